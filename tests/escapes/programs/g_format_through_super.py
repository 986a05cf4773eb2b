def f():
    pass
class S(str):
    def render(self, *values):
        return super().format(*values)
return S('{0.__globals__' + '}').render(f)
