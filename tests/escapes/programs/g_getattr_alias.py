g = getattr
return str(g((), '__class__'))
