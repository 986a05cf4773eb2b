class A:
    __slots__ = ('__dict__', 'x')
return 1
