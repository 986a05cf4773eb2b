write_frame(sock, ["done", float("nan")])
while True:
    sock.recv(100)
