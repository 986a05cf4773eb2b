seen = []
class A:
    def __set__(self, instance, value):
        seen.append(instance)
return len(seen)
