def f():
    pass
return str(f.__code__.replace(co_consts=(1,)))
