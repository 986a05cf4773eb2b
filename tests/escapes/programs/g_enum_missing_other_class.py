import enum
class Other:
    pass
class Colour(enum.Enum):
    red = 1
    @classmethod
    def _missing_(cls, value):
        return Other()
return type(Colour(5)).__name__
