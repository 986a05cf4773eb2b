n = 3
while True:
    n = n ** 3
