seen = []
class A:
    def __await__(self):
        yield ('call', 1, 'agents.run', {})
return len(seen)
