def f():
    pass
template = '{0.__glo' + 'bals__}'
return template.format(f)
