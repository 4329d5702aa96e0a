plan lama3-8b --nodes 4
