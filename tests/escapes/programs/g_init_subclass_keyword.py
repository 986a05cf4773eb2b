class Base:
    pass

class Child(Base, token=print):
    pass

return 1
