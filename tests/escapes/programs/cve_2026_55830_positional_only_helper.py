def f(__format_call__, /):
    return '{}'.format(1)
return f(str.upper)
