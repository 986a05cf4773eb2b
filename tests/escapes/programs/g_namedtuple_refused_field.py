from collections import namedtuple
T = namedtuple('T', ['x', 'gi_frame'])
return str(T)
