def f(__import__, __build_class__, /):
    import os
    return os
return str(f(1, 2))
