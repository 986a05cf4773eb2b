def f():
    return 1
for f.__code__ in [1]:
    pass
return f()
