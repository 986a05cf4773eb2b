return (lambda found=().__class__.__base__.__subclasses__(): found)()
