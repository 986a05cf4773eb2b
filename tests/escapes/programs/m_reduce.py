seen = []
class A:
    def __reduce__(self):
        return (print, ('reduced',))
return len(seen)
