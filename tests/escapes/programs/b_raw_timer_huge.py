write_frame(sock, ["timer", 1, 1e308])
while True:
    sock.recv(100)
