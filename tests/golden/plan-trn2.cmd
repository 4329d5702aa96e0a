plan llama3-70b --nodes 64 --instance trn2.48xlarge
