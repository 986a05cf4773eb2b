import functools
def f():
    pass
class C:
    pass
return str(functools.wraps(f, updated=('__globals__',))(C()))
