check {SRC}/tests/io/fixtures/nxdt/hf_llama3_8B_DPO_config.yaml
