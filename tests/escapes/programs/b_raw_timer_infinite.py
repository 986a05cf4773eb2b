write_frame(sock, ["timer", 1, float("inf")])
while True:
    sock.recv(100)
