import re
return str(getattr(re.RegexFlag, "_convert_"))
