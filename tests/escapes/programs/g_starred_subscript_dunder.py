x = {}
return x[*().__class__.__mro__]
