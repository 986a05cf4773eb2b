def f():
    def g():
        nonlocal __x__
    g()
return f()
