seen = []
class A:
    def __new__(cls):
        return 1
return len(seen)
