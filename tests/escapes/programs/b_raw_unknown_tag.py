write_frame(sock, ["exec", "x"])
while True:
    sock.recv(100)
