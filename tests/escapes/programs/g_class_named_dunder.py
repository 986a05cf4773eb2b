class __builtins__:
    pass
return 1
