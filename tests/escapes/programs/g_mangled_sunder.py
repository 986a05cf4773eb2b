import enum
class _enum(enum.Enum):
    red = 1
    def walk(self):
        return self.__member_map_
return list(_enum.red.walk())
