whatif llama3-8b --nodes 4..16 --deadline 10d --tokens 2T
