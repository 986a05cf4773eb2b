import string

class Pattern:
    def sub(self, convert, text):
        return convert

class Leaking(string.Template):
    pass

Leaking.pattern = Pattern()
function = Leaking("x").substitute({})
return function({"named": 1}).x
