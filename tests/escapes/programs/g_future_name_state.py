future = asyncio.Future()
return future.__waiters__
