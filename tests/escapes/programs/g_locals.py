return str(locals())
