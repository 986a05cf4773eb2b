await asyncio.Event().wait()
return 1
