import functools
return str(functools.singledispatchmethod)
