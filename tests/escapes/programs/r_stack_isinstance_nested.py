nested = (int,)
for _ in range(20_000):
    nested = (nested,)
return isinstance("x", nested)
