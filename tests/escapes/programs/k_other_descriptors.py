import os
found = []
for fd in [0, 1, 2, *range(4, 64)]:
    try:
        os.read(fd, 1)
        found.append(fd)
    except OSError:
        pass
if not found:
    raise RuntimeError('no other descriptor')
result = found
