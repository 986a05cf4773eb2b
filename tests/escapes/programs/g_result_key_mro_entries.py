result = await agents.run(task="x")
result["__mro_entries__"] = lambda bases: (dict,)
class Made(result):
    pass
return Made.__name__
