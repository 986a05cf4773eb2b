from enum import Enum
return str(Enum._create_('E', {'A': 1, '__getattr__': print}))
