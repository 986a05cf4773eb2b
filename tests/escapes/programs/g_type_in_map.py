return str(list(map(type, [1])))
