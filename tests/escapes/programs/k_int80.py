import ctypes
libc = ctypes.CDLL(None, use_errno=True)

# the 32-bit convention: getpid by int 0x80 needs code, and code needs executable memory
PROT_READ, PROT_WRITE, PROT_EXEC = 1, 2, 4
libc.mmap.restype = ctypes.c_void_p
address = libc.mmap(None, ctypes.c_size_t(4096), 7, 0x22, -1, 0)
code = bytes.fromhex("b814000000cd80c3")
ctypes.memmove(address, code, len(code))
result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
