async def forever():
    while True:
        await asyncio.sleep(0)
return await forever()
