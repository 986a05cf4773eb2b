return (lambda __import__: 1)(2)
