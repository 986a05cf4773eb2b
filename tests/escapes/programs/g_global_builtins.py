def f():
    global __builtins__
    __builtins__ = {}
f()
return 1
