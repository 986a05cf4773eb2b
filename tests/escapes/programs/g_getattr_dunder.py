return str(getattr((), '__class__'))
