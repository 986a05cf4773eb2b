class A:
    pass
M = type(A)
return str(M('B', (), {'__await__': print}))
