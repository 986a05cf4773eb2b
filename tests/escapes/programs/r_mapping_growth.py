import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
for count in range(4096):
    if libc.mmap(None, ctypes.c_size_t(1 << 20), 3, 0x22, -1, 0) == 2 ** 64 - 1:
        raise MemoryError(f"after {count} MiB")
result = f"{count} MiB mapped and never touched"
