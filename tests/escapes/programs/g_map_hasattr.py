return list(map(hasattr, [()], ["__class__"]))
