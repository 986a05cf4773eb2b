def a(n):
    return b(n)
def b(n):
    return a(n)
return a(0)
