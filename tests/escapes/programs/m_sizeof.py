seen = []
class A:
    def __sizeof__(self):
        return 1
return len(seen)
