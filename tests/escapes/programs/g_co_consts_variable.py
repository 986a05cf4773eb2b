import contextlib
@contextlib.contextmanager
def scope():
    yield
return str(scope().gen.gi_code)
