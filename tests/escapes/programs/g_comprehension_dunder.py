return [__builtins__ for __builtins__ in [1]]
