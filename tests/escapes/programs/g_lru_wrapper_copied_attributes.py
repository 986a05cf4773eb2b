import functools
class Wrapped:
    def __call__(self):
        return 1
wrapped = Wrapped()
wrapped.marker = 1
return functools.cache(wrapped).marker
