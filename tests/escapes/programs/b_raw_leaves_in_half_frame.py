import os
sock.sendall(b"\xff\x00\x00\x00abc")
os._exit(0)
