seen = []
class A:
    def __instancecheck__(self, other):
        return True
return len(seen)
