t = '{}'
f = t.ｆormat
return f(1)
