plan {SRC}/tests/golden/clusters.yaml
