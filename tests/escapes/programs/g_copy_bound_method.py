import copy

class Owner:
    def method(self):
        pass

def gi_frame():
    pass

def steps():
    yield 1

bind = type(Owner().method)
frame = copy.copy(bind(gi_frame, steps()))
if callable(frame):
    raise ValueError("still a method")
return str(frame)
