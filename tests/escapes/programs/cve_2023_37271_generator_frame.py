def g():
    yield 1
return str(g().gi_frame.f_builtins)
