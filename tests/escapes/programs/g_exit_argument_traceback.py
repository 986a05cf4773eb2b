class Scope:
    def __exit__(self, kind, error, traceback):
        self.frame = traceback.tb_frame
        return True
    def __enter__(self):
        return self

with Scope() as scope:
    1 / 0
return str(scope.frame)
