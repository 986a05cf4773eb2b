from abc import ABC
from dataclasses import dataclass

@dataclass
class Framed(ABC):
    gi_frame: int = 0

def steps():
    yield 1

Framed.register(type(steps()))
match steps():
    case Framed(frame):
        return str(frame)
