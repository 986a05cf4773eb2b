write_frame(sock, ["call", 0, "tools.read", {}])
while True:
    sock.recv(100)
