def f():
    return (g for g in [1])
x = f()
return [frame.f_builtins for frame in [x.gi_frame]]
