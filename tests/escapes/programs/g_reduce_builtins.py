from functools import reduce
return reduce(getattr, ["__class__", "__base__"], ())
