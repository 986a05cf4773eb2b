class A(metaclass=int):
    pass
return 1
