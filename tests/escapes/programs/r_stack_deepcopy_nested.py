import copy
nested = []
for _ in range(200_000):
    nested = [nested]
return str(copy.deepcopy(nested))
