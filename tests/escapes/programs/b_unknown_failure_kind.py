write_frame(sock, ['failed', 'host', 'the host did it'])
while True:
    sock.recv(100)
