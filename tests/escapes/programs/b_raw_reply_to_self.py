write_frame(sock, ["reply", 1, "done"])
while True:
    sock.recv(100)
