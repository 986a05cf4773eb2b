import json as __builtins__
return str(__builtins__)
