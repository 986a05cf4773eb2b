return str(type('B', (), {'__del__': print}))
