watch {SRC}/tests/calibrate/fixtures/logs/nxdt-llama3-70b.txt --once --config {SRC}/tests/io/fixtures/nxdt/megatron_llama_70b_config.yaml --format json
