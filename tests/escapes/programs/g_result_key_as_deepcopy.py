import copy
result = await agents.run(task="x")
result["__deepcopy__"] = lambda memo: "ours"
if copy.deepcopy(result) != "ours":
    raise ValueError("contained")
return "a method of our choice"
