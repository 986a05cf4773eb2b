import collections.abc
class Forwarding(type(collections.abc.Callable[[int], str])):
    pass
return Forwarding(print, ([], int)) is not None
