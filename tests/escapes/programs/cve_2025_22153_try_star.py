try:
    raise ValueError('x')
except* ValueError as group:
    return str(group.split)
