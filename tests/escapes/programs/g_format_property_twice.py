class Text(str):
    turns = 0
    @property
    def format(self):
        self.turns += 1
        if self.turns == 1:
            return lambda *rest: "mine"
        return super().format

return Text("{0.__class__}").format(1)
