class Text(str):
    def __str__(self):
        return str(self) + "x"
return str(Text("x"))
