def numbers():
    yield 1
class Frames:
    __match_args__ = ("gi_frame",)
match numbers():
    case Frames(frame):
        return str(frame)
