collective allr -r 64 -N 2 -b 8 -e 1GB -f 2 -d fp32
