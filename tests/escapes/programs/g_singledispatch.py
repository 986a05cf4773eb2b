from functools import singledispatch
@singledispatch
def f(x):
    return 1
return f(1)
