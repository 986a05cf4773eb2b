import enum
class Colour(enum.Enum):
    _ignore_ = ["__module__", "__qualname__"]
    red = 1
return Colour._member_map_
