import itertools
return sum(1 for _ in itertools.product(range(1000), repeat=6))
