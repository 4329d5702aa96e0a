topology --instance trn2.48xlarge-lnc1 --tp 16
