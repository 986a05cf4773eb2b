write_frame(sock, {"type": "done"})
while True:
    sock.recv(100)
