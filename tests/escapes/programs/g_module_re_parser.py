import re
return str(re._parser)
