seen = []
class A:
    def __mro_entries__(self, bases):
        return (int,)
return len(seen)
