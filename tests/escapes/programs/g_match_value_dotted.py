match 1:
    case input.__class__.x:
        return 1
return 2
