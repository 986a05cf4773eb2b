try:
    1 / 0
except ZeroDivisionError as e:
    e.with_traceback(None)
return 1
