from functools import partial
return partial(type, "X", (), {})()
