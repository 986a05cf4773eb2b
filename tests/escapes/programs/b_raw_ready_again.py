write_frame(sock, ["ready"])
while True:
    sock.recv(100)
