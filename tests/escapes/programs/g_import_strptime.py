import _strptime
return str(_strptime)
