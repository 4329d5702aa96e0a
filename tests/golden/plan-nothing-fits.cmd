plan {SRC}/tests/golden/too-large.yaml
