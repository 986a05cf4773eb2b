try:
    1 / 0
except ZeroDivisionError as __builtins__:
    pass
return 1
