def key(value):
    for _ in range(10_000_000):
        pass
    return value
return sorted(range(1000), key=key)
