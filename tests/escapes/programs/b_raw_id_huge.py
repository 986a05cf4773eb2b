write_frame(sock, ["call", 2 ** 63, "tools.read", {}])
write_frame(sock, ["call", 1, "tools.read", {}])
while True:
    sock.recv(100)
