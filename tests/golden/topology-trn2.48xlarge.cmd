topology --instance trn2.48xlarge --tp 32
