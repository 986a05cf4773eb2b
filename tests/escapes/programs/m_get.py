seen = []
class A:
    def __get__(self, instance, owner):
        return seen.append(owner)
return len(seen)
