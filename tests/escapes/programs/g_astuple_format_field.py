from dataclasses import astuple, dataclass, field

@dataclass
class Formatted:
    format: int = field(init=False, default=0)

class Text(str, Formatted):
    def __init__(self, *rest):
        pass

method = astuple(Text("{0.__class__.__mro__}"))[0]
return method(1)
