import ctypes
libc = ctypes.CDLL(None, use_errno=True)
import mmap
page = mmap.mmap(-1, 4096)
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
address = ctypes.c_void_p(address)
r = libc.syscall(10, address, 4096, 5)
e = ctypes.get_errno()
if r == -1 and e in (1, 9, 13, 38):
    raise PermissionError(e, "refused")
result = f"REACHED THE KERNEL r={r} errno={e}"
