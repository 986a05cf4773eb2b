from enum import IntEnum
return str(IntEnum._convert_('E', 'os', lambda n: True))
