from typing import TypedDict
return str(TypedDict('T', {'x': int}))
