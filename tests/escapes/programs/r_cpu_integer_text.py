return len(str(7 ** 30_000_000))
