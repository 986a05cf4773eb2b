import string
return str(string.Formatter)
