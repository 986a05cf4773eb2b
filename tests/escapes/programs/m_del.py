seen = []
class A:
    def __del__(self):
        seen.append('late')
return len(seen)
