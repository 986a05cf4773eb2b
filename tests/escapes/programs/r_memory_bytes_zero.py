return len(bytes(10 ** 10))
