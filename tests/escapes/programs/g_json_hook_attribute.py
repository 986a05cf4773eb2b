import json
return str(json.loads('{}', cls=json.decoder))
