topology --instance trn2u-ultraserver --tp 64
