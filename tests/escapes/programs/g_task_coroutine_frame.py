async def work():
    pass
task = asyncio.create_task(work())
return str(task.get_coro().cr_frame)
