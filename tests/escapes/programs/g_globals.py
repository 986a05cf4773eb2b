return str(globals())
