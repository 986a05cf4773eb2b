loop = asyncio.get_event_loop()
return str(loop._selector)
