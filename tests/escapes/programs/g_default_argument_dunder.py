def f(x=(lambda: 0).__globals__):
    return str(x)
return f()
