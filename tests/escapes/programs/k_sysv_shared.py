import ctypes
libc = ctypes.CDLL(None, use_errno=True)
found = libc.shmget(0x7069, 4096, 0o1666)
if found < 0:
    raise PermissionError(ctypes.get_errno(), "refused")
libc.shmctl(found, 0, None)
result = "a segment that other processes could attach"
