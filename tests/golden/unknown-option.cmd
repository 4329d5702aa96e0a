plan {SRC}/examples/llama3-8b-one-node/job.yaml --node 4
