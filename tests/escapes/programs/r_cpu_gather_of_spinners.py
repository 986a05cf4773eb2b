async def spin():
    while True:
        await asyncio.sleep(0)
return await asyncio.gather(*[spin() for _ in range(1000)])
