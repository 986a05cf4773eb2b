class A:
    x = 1
delattr(A, 'x')
return 1
