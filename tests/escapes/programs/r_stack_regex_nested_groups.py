import re
return str(re.compile("(" * 100_000 + ")" * 100_000))
