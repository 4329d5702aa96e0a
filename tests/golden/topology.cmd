topology --tp 16 --dp 2
