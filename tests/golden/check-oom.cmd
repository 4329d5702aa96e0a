check {SRC}/tests/planner/fixtures/oom.yaml
