from functools import update_wrapper
return str(update_wrapper)
