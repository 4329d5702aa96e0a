whatif llama3-8b --nodes 8 --deadline 30d
