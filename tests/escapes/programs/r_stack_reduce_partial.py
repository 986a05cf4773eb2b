from functools import partial
f = len
for _ in range(20_000):
    f = partial(lambda g: g(), f)
return f()
