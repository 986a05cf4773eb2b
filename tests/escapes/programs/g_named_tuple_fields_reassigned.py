import collections
P = collections.namedtuple("P", "a b")
P._fields = ("__class__", "__dict__")
made = P(1, 2)._replace(__class__=3)
return made
