import ctypes
libc = ctypes.CDLL(None, use_errno=True)
r = libc.ptrace(0, 0, 0, 0)
if r == -1 and ctypes.get_errno() in (1, 13, 38):
    raise PermissionError(1, 'refused')
result = f'ptrace {r}'
