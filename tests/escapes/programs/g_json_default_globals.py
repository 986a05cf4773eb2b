import json

def default(value):
    return default.__globals__

return json.dumps({"x": object()}, default=default)
