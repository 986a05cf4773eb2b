import contextlib
class Box:
    pass
box = Box()
with contextlib.nullcontext(1) as box.f_globals:
    return box.f_globals
