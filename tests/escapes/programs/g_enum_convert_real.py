import re

re.RegexFlag._member_names_.clear()
found = re.RegexFlag._convert_("Found", "os", lambda name: name == "popen")
return str(found.popen)
