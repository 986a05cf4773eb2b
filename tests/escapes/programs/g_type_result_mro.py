return [each.__name__ for each in type(1).mro()]
