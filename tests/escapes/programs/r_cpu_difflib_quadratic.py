import difflib
a = ["x", "y"] * 20000
b = ["y", "x", "x"] * 20000
return difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()
