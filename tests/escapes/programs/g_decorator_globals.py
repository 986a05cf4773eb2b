def leak(function):
    return function.__globals__

@leak
def victim():
    pass

return str(victim["__builtins__"])
