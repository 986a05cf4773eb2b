slots = ['x']
class A:
    __slots__ = slots
slots[0] = '__class__'
return 1
