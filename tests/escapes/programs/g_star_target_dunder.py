class Box:
    pass
box = Box()
first, *box.__dict__ = [1, 2]
return first
