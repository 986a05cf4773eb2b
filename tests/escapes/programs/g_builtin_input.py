return input('name? ')
