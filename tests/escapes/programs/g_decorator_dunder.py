@(lambda f: f.__globals__)
def f():
    pass
return str(f)
