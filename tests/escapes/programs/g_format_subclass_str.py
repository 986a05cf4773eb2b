class S(str):
    pass
def f():
    pass
return S('{0.__glob' + 'als__}').format(f)
