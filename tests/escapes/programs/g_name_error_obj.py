try:
    asyncio.nothing
except AttributeError as error:
    return str(error.obj)
