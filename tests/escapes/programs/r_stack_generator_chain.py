def deep(n):
    if n:
        yield from deep(n - 1)
    yield n
return sum(deep(10 ** 6))
