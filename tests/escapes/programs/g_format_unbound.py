def f():
    pass
t = '{0.__globals__' + '}'
return str.format(t, f)
