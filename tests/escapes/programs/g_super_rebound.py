super = lambda: print
return str(super().__init__)
