plan {SRC}/tests/planner/fixtures/oom.yaml --top 2
