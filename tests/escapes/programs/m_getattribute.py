seen = []
class A:
    def __getattribute__(self, name):
        return 1
return len(seen)
