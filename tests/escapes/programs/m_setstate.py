seen = []
class A:
    def __setstate__(self, state):
        seen.append(state)
return len(seen)
