import json
try:
    json.nothing
except AttributeError as e:
    return str(e.obj)
