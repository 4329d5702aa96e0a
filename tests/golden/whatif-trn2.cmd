whatif llama3-70b --nodes 64,128 --instances trn2.48xlarge --deadline 60d --tokens 2T
