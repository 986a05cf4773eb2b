class A:
    pass
setattr(A, '__await__', print)
return 1
