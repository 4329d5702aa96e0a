def trnplan():
    config = shipped("llama3_8b")
    put(config.training, seq_len=8192, local_batch_size=1, global_batch_size=1024)
    put(config.parallelism, data_parallel_replicate_degree=65536, data_parallel_shard_degree=65536)
    config.activation_checkpoint = None
    return config
