write_frame(sock, ['reply', 1, None])
while True:
    sock.recv(100)
