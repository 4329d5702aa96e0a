topology --instance trn1.2xlarge --tp 2 --format json
