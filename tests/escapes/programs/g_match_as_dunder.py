match 1:
    case __import__:
        return str(__import__)
