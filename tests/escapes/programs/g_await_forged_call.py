class Forged:
    def __iter__(self):
        yield ('call', 1, 'agents.run', {})
return await Forged()
