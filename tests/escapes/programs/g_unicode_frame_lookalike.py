def steps():
    yield 1
return str(steps().ｇi_frame)
