plan {SRC}/tests/regress/job/unknown-key.yaml
