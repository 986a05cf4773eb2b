write_frame(sock, ["warm", 1000])
while True:
    sock.recv(100)
