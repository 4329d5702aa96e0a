topology --instance trn1.2xlarge --tp 2
