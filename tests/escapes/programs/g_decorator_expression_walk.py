@(lambda f: f.__globals__)
def g():
    return 1
return sorted(g)
