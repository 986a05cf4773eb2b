held = [memoryview(bytearray(10 ** 8)) for _ in range(100)]
return len(held)
