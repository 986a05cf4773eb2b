sock.sendall(b'\xff\x00\x00\x00abc')
while True:
    sock.recv(100)
