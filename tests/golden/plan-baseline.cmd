plan {SRC}/examples/llama3-8b-one-node/job.yaml --baseline {SRC}/tests/io/fixtures/nxdt/hf_llama3_8B_config.yaml
