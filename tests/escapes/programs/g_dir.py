return str(dir(1))
