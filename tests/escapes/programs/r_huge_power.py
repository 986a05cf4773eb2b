return 10 ** 10 ** 8 > 0
