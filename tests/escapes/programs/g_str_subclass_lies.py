class S(str):
    pass
return {S('k'): 1}
