class E(Exception):
    def __str__(self):
        raise BaseException('again')
raise E()
