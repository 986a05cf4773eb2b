import contextlib, dataclasses, collections.abc, copy
from dataclasses import dataclass

class Wrapped:
    def __call__(self):
        return 1

class Evil:
    def __deepcopy__(self, memo):
        for value in list(memo.values()):
            if isinstance(value, dict) and "marker" in value:
                value["__dataclass_fields__"] = {"a": Sly()}
        return 0

class Sly:
    init = True
    default = 1
    _field_type = None
    turn = 0
    @property
    def name(self):
        self.turn += 1
        return ("nothing", "__globals__", "origin")[self.turn - 1]

@contextlib.contextmanager
def nothing():
    yield

w = Wrapped()
w.marker = 1
w.evil = Evil()
polluted = copy.deepcopy(w)
inner = nothing()(polluted)
Alias = type(collections.abc.Callable[[int], str])
seen = []

@dataclass(init=False)
class G(Alias):
    def __init__(self, *a, **kw):
        seen.append(kw.get("origin"))

g = G(inner, ([], int))
dataclasses.replace(g, args=([], int))
return len(seen[-1]["sys"].modules)
