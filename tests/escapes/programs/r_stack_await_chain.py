async def deep(n):
    return await deep(n + 1)
return await deep(0)
