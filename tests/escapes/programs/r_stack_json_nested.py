import json
nested = []
for _ in range(200_000):
    nested = [nested]
return len(json.dumps(nested))
