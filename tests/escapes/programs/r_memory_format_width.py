return len("{:>{}}".format(1, 10 ** 9))
