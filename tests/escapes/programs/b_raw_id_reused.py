write_frame(sock, ["call", 5, "tools.read", {}])
write_frame(sock, ["call", 5, "tools.read", {}])
while True:
    sock.recv(100)
