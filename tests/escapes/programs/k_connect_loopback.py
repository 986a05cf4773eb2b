import socket
s = socket.socket()
s.settimeout(1)
try:
    s.connect(("127.0.0.1", 9))
except ConnectionRefusedError:
    result = "a packet went through the host's loopback"
