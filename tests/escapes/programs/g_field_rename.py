import dataclasses
@dataclasses.dataclass
class D:
    x: int = 1
dataclasses.fields(D)[0].name = '__class__'
return str(dataclasses.asdict(D()))
