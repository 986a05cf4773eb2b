seen = []
class A:
    def __getstate__(self):
        return {'__class__': int}
return len(seen)
