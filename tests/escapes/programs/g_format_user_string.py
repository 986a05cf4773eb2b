from collections import UserString
return UserString('{0.__class__}').format(1)
