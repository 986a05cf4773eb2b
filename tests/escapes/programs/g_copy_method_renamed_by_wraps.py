import copy, functools, json

class Owner:
    def method(self):
        pass

named = type(json)("named", {"__name__": "__globals__"})
def function():
    pass
functools.wraps(named)(function)
bind = type(Owner().method)
return str(copy.copy(bind(function, json.dumps))["codecs"].builtins.eval)
