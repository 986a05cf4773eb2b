class C:
    def __enter__(self):
        return self
    def __exit__(self, kind, error, tb):
        self.tb = tb
        return True
with C() as c:
    1 / 0
return str(c.tb.tb_frame)
