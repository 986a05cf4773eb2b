write_frame(sock, ["failed", "cancelled", "nobody knows"])
while True:
    sock.recv(100)
