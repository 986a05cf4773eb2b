from typing import NamedTuple

class Pair(NamedTuple):
    format: int
    mro: int

return Pair(1, 2).index(1)
