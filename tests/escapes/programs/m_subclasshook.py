seen = []
class A:
    @classmethod
    def __subclasshook__(cls, other):
        return True
return len(seen)
