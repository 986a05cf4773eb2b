class Deep:
    @property
    def deeper(self):
        return self.deeper
return Deep().deeper
