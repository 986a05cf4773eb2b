from typing import Protocol, runtime_checkable
@runtime_checkable
class P(Protocol):
    def run(self): ...
return isinstance(1, P)
