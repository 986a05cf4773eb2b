import dataclasses
@dataclasses.dataclass
class P:
    a: int = 1
alias = list[P]
return dataclasses.replace(alias, a=2)
