"""The machinery under a program, loaded in a guest process only.

`zygote` forks guests, `confine` closes them in, `compile_policy` and `guards` are the language layer, `program` runs
one program on `scheduler`, `channel` carries its frames.
"""
