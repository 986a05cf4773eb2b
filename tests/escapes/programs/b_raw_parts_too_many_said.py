write_frame(sock, ["done", None, 10 ** 9])
while True:
    sock.recv(100)
