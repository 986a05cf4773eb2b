import copy, json
return str(copy.copy(json).codecs)
