write_frame(sock, ["call", "1", 2, 3])
while True:
    sock.recv(100)
