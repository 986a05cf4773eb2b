def f():
    pass
t = '{f.' + '__globals__}'
return t.format_map({'f': f})
