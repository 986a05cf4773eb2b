from dataclasses import make_dataclass
return str(make_dataclass('D', [('x', int)]))
