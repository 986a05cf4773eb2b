class Odd:
    def __lt__(self, other):
        return self < other
return sorted([Odd(), Odd()])
