import copy
class Mine:
    pass
class Other:
    pass
mine = Mine()
mine.x = 1
made = copy.deepcopy(mine, {id(Mine): Other})
if type(made) is Mine:
    raise ValueError("contained")
return "a class without its constructor"
