import json
return str(json.loads("[" * 20_000 + "]" * 500_000))
