nested = []
for _ in range(200_000):
    nested = [nested]
return len(repr(nested))
