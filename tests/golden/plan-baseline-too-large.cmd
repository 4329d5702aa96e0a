plan {SRC}/examples/llama3-8b-one-node/job.yaml --top 1 --baseline {SRC}/tests/golden/baseline-too-large.yaml
