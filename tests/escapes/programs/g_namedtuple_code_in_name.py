from collections import namedtuple
return str(namedtuple('T', ['x=print(1)']))
