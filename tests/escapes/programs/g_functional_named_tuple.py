from typing import NamedTuple
return str(NamedTuple('N', [('x', int)]))
