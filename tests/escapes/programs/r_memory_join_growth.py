text = "x" * 1024
while True:
    text = text.join([text] * 16)
