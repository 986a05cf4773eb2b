seen = []
class A:
    def __class_getitem__(cls, item):
        return seen.append(item)
return len(seen)
