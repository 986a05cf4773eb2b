seen = []
class A:
    def __reduce_ex__(self, protocol):
        return (print, ('reduced',))
return len(seen)
