return dict(__class__=1)
