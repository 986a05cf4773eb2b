seen = []
class A:
    def __getattr__(self, name):
        return seen.append(name)
return len(seen)
