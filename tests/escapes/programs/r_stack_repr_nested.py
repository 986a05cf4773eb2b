nested = []
for _ in range(20_000):
    nested = [nested]
return len(repr(nested))
