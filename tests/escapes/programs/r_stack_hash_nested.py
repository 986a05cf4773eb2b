nested = ()
for _ in range(500_000):
    nested = (nested,)
return hash(nested)
