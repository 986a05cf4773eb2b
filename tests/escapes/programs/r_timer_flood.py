tasks = [asyncio.create_task(asyncio.sleep(1000)) for _ in range(20000)]
await asyncio.sleep(5)
return 1
