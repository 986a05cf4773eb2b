import json

made = type(json)("made", {"__mro_entries__": lambda bases: (int,), "__bases__": ()})
class Child(made):
    pass
return Child(3)
