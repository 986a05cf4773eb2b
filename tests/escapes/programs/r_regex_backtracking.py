import re
return re.match('(a+)+$', 'a' * 64 + 'b')
