result = await agents.run(task="x")
result["__bases__"] = ()
return isinstance(1, result)
