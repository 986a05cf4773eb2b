class A:
    __match_args__ = ('__class__',)
match A():
    case A(k):
        return str(k)
