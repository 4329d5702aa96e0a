def trnplan():
    config = shipped("llama3_8b")
    put(config.training, seq_len=8192, local_batch_size=1, global_batch_size=1024)
    put(config.parallelism, tensor_parallel_degree=3000000000)
    config.activation_checkpoint = None
    return config
