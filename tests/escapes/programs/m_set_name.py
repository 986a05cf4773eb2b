seen = []
class A:
    def __set_name__(self, owner, name):
        seen.append(owner)
return len(seen)
