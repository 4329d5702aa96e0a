whatif {SRC}/examples/whatif-llama2-7b/job.yaml --nodes 16 --tokens 100B --format json
