return len("x" * (10 ** 10))
