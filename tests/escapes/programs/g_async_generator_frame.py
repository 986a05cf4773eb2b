async def f():
    yield 1
return str(f().ag_frame)
