held = []
while True:
    a = []
    b = [a] * 1000
    a.append(b)
    held.append(a)
