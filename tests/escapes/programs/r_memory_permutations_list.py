import itertools
return len(list(itertools.permutations(range(12))))
