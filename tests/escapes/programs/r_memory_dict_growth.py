d = {}
for i in range(10 ** 9):
    d[i] = i
return len(d)
