write_frame(sock, ["timer", 1, float("nan")])
while True:
    sock.recv(100)
