import copy
class S:
    __slots__ = ("a", "b")
class Other:
    __slots__ = ("a", "b")
class Evil:
    def __deepcopy__(self, memo):
        for value in list(memo.values()):
            if isinstance(value, dict) and "a" in value:
                value["__class__"] = Other
        return 0
s = S(); s.a = 1; s.b = Evil()
t = copy.deepcopy(s)
if type(t) is not Other:
    raise ValueError("contained")
return "a name of our choice was assigned"
