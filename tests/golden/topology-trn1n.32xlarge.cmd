topology --instance trn1n.32xlarge --nodes 2 --tp 32
