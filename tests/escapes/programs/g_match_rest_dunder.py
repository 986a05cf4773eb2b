match {'a': 1}:
    case {**__builtins__}:
        return 1
