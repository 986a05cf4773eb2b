import contextlib
@contextlib.asynccontextmanager
async def nothing():
    yield
async def wrapped():
    return 1
wrapped.marker = 1
return nothing()(wrapped).marker
