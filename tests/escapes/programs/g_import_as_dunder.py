import json as __builtins__
return 1
