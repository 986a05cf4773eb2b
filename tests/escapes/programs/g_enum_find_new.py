from enum import Enum

return str(Enum._find_new_({}, int, Enum))
