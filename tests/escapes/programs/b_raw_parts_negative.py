write_frame(sock, ["done", None, -1])
while True:
    sock.recv(100)
