check {SRC}/tests/io/fixtures/nxdt/hf_mixtral_8x7b_config.yaml
