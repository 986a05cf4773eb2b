return len(await asyncio.gather(*(net.slow(seconds=50) for _ in range(2000))))
