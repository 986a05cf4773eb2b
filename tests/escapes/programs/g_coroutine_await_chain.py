async def f():
    pass
return str(f().cr_await)
