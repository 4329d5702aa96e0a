plan llama3-8b --nodes 4 --top 1
