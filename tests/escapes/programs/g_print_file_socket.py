print('x', file=asyncio)
return 1
