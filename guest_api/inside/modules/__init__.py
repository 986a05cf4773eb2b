"""The modules that a program may import: frozen namespaces of chosen functions and types, never a module object.

`table.py` lists them; each other file holds what the standard library's own version would do unsafely.
"""
