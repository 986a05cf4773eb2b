import json
return str(json.loads("[" * 500_000 + "]" * 500_000))
