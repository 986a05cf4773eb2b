t = type
return str(t(t))
