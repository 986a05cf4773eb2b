import functools
def f():
    pass
def g():
    pass
return str(functools.wraps(f, updated=('__globals__',))(g))
