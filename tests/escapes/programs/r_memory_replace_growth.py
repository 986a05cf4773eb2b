text = "a"
while True:
    text = text.replace("a", "aaaaaaaa")
