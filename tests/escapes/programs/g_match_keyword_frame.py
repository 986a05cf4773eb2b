def steps():
    yield 1
match steps():
    case object(gi_frame=frame):
        return str(frame)
