import ctypes
libc = ctypes.CDLL(None, use_errno=True)
r = libc.syscall(310, 1, None, 0, None, 0, 0)
e = ctypes.get_errno()
if r == -1 and e in (1, 9, 13, 38):
    raise PermissionError(e, "refused")
result = f"REACHED THE KERNEL r={r} errno={e}"
