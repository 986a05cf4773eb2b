write_frame(sock, ['done', None, 3])
while True:
    sock.recv(100)
