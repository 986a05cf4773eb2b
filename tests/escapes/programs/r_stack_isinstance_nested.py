nested = (int,)
for _ in range(200_000):
    nested = (nested,)
return isinstance("x", nested)
