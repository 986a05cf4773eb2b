x = []
while True:
    x.append('a' * 10_000_000)
