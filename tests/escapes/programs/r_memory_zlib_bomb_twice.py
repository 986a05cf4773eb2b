import zlib, base64
block = zlib.compress(bytes(64 * 1024 * 1024), 9)
bomb = zlib.compress(block * 200, 9)
first = zlib.decompress(bomb)
return len(zlib.decompress(first)) and len([zlib.decompress(block) for _ in range(20)])
