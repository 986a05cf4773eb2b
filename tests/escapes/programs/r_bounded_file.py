import os
fd = os.open("/tmp/guest-was-here", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
try:
    result = f"{os.write(fd, b'x' * 100)} bytes in a file"
finally:
    os.unlink("/tmp/guest-was-here")
