import itertools
chain = iter([1])
for _ in range(500_000):
    chain = itertools.chain(chain)
return next(chain)
