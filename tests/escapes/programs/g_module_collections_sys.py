import collections
return str(collections._sys.modules)
