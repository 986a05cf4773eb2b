while True:
    try:
        await asyncio.sleep(0.001)
    finally:
        continue
