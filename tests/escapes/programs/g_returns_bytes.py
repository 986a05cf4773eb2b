return b'x'
