seen = []
class A:
    def __setattr__(self, name, value):
        seen.append(name)
return len(seen)
