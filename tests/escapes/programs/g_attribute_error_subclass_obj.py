class Owner(AttributeError):
    obj: object = None

try:
    raise Owner("x")
except Owner as error:
    return 1
