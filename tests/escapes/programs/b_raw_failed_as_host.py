write_frame(sock, ["failed", "host", "the host is broken"])
while True:
    sock.recv(100)
