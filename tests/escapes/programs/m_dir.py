seen = []
class A:
    def __dir__(self):
        return ['x']
return len(seen)
