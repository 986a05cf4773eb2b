return sum(range(10 ** 12))
