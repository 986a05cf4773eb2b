import string

class Dotted(string.Template):
    idpattern = r"[a-z_.]+"

return Dotted("${input.__class__}").substitute(input=input)
