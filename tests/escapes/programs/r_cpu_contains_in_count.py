import itertools
return -1 in itertools.count()
