import functools, json
class Less:
    def __lt__(self, other):
        return True
return functools.total_ordering(json)
