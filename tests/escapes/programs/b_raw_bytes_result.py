write_frame(sock, ["done", b"x"])
while True:
    sock.recv(100)
