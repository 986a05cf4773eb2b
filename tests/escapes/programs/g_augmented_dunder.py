def f():
    pass
f.__defaults__ += (1,)
return 1
