whatif llama2-7b --nodes 4,8 --budget 250000 --format json
