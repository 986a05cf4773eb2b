class A:
    pass
return '{0.__init__.__globals__}'.format(A())
