def f():
    pass
return str(f.__globals__)
