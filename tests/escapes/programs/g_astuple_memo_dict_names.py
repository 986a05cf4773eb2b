import dataclasses
class Plain:
    pass
class Evil:
    def __deepcopy__(self, memo):
        for value in list(memo.values()):
            if isinstance(value, dict) and "marker" in value:
                value["injected"] = 1
        return 0
p = Plain()
p.marker = 1
p.evil = Evil()
@dataclasses.dataclass
class D:
    s: Plain
return dataclasses.astuple(D(p))[0].injected
