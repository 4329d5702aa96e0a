plan llama3-8b --nodes 1 --top 1 --deadline 30d --budget 10000
