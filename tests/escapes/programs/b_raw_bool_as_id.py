write_frame(sock, ["call", True, "tools.read", {}])
while True:
    sock.recv(100)
