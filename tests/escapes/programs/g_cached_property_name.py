from functools import cached_property
class A:
    pass
p = cached_property(lambda self: 1)
p.attrname = '__class__'
return 1
