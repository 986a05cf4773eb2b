return 7 ** 100_000
