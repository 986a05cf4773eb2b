import json
return str(json.codecs.builtins)
