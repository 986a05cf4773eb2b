error = None
while True:
    new = ValueError("x" * 10000)
    new.args = (error,)
    error = new
