class A:
    def __init__(self):
        pass
return '{0.__init__.__globals__}'.format(A())
