f = str.format
return f('{0}', 1)
