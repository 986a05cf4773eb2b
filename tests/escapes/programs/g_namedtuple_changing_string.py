from collections import namedtuple
class S(str):
    def __str__(self):
        return 'x: print(1)'
return str(namedtuple('T', [S('a b')]))
