seen = []
class A:
    def __delattr__(self, name):
        pass
return len(seen)
