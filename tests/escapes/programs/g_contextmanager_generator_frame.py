from contextlib import contextmanager
@contextmanager
def c():
    yield
return str(c().gen.gi_frame)
