import ctypes
return ctypes.CDLL(None).system(b'id')
