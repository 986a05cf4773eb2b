def nested():
    made = []
    for _ in range(20_000):
        made = [made]
    return made
return nested() == nested()
