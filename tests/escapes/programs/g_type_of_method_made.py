class A:
    def f(self):
        return 1
Method = type(A().f)
return Method(A.f, A()).__func__.__globals__
