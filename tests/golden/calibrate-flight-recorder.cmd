calibrate {SRC}/tests/calibrate/fixtures/logs/nccl_trace_rank_0.json {SRC}/tests/calibrate/fixtures/logs/nccl_trace_rank_1.json --instance p5.48xlarge
