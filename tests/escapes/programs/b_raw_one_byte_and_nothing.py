sock.sendall(b"\x01")
while True:
    sock.recv(100)
