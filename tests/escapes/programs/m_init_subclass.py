seen = []
class A:
    def __init_subclass__(cls):
        seen.append(cls)
return len(seen)
