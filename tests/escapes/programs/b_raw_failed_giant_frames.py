write_frame(sock, ["failed", "program", "x", 1, "y", [[1, "f"]] * 100000, None])
while True:
    sock.recv(100)
