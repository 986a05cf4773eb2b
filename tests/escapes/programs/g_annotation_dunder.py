x: (lambda: 0).__globals__ = 1
return x
