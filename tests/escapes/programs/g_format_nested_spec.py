def f():
    pass
t = '{0:{1.__globals__' + '}}'
return t.format(1, f)
