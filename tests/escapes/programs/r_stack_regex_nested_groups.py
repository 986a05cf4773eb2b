import re
return str(re.compile("(" * 10_000 + ")" * 10_000))
