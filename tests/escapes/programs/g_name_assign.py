def f():
    pass
f.__name__ = 'x'
return f.__name__
