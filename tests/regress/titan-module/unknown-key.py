def trnplan():
    config = shipped("llama3_8b")
    put(config.training, local_batch_size=2, global_batch_size=8, seq_len=16777216)
    put(
        config.parallelism,
        data_parallel_replicate_degree=1,
        data_parallel_shard_degree=2,
        tensor_parallel_degoee=2,
        context_parallel_degree=2,
        pipeline_parallel_degree=1,
        expert_parallel_degree=1,
    )
    config.activation_checkpoint = None
    return config
