seen = []
class A:
    def __fspath__(self):
        return '/etc/passwd'
return len(seen)
