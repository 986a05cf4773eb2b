async def wait():
    await asyncio.Event().wait()
tasks = []
while True:
    tasks.append(asyncio.create_task(wait()))
