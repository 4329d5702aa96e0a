whatif llama3.1-405b --nodes 4,8 --deadline 30d
