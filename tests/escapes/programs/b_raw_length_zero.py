sock.sendall(bytes(4))
while True:
    sock.recv(100)
