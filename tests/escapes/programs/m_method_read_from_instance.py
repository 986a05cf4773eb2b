return str([].__len__)
