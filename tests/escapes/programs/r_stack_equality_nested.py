def nested():
    made = []
    for _ in range(200_000):
        made = [made]
    return made
return nested() == nested()
