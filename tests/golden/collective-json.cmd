collective all_gather --ranks 8 --bytes 64M --format json
