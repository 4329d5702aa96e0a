simulate {SRC}/examples/llama3-8b-one-node/job.yaml --strategy tp=32
