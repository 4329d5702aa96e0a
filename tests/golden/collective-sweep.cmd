collective all_reduce --ranks 2 --minbytes 1KB --maxbytes 1GB --stepfactor 4 --show-algorithm
