return [__builtins__ := each for each in (1,)]
