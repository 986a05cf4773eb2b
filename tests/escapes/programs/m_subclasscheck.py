seen = []
class A:
    def __subclasscheck__(self, other):
        return True
return len(seen)
