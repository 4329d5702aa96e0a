plan {SRC}/tests/golden/deadline.yaml
