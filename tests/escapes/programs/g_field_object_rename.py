import dataclasses
spec = dataclasses.field(default=1)
spec.name = 'x=print(1)'
return 1
