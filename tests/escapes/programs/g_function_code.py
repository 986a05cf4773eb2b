def f():
    pass
f.__code__ = f.__code__
return 1
