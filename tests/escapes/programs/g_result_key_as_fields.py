import dataclasses
result = await agents.run(task="x")
result["__dataclass_fields__"] = {}
return list(dataclasses.fields(result))
