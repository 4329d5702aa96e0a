watch {SRC}/tests/calibrate/fixtures/logs/nxd-llama3-70b.txt --once --job {SRC}/examples/llama3-70b-16-nodes/job.yaml --strategy tp=32,pp=8,cuts=10/20/30/40/50/60/70
