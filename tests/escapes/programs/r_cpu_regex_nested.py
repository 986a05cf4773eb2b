import re
return bool(re.match(r"(a|aa)+$", "a" * 60 + "b"))
