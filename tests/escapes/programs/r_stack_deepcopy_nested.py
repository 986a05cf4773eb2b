import copy
nested = []
for _ in range(20_000):
    nested = [nested]
return str(copy.deepcopy(nested))
