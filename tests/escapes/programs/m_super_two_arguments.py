class A(dict):
    def f(self):
        return super(A, self).__init__()
return A().f()
