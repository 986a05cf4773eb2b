import contextlib
@contextlib.contextmanager
def nothing():
    yield
class Wrapped:
    def __call__(self):
        return 1
wrapped = Wrapped()
wrapped.marker = 1
return nothing()(wrapped).marker
