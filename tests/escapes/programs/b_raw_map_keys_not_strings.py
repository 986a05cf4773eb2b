write_frame(sock, ["done", {1: 2}])
while True:
    sock.recv(100)
