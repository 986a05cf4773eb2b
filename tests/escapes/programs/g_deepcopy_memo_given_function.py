import copy
def mine():
    return 1
made = copy.deepcopy([mine], {id(mine): "another"})
if made[0] is mine:
    raise ValueError("contained")
return made
