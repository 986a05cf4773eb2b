match 'x':
    case str(format_map=f):
        return f({})
