collective all_reduce --ranks 64 --nodes 2 --bytes 64M
