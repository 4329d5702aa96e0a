plan {SRC}/tests/golden/alignment.yaml
