write_frame(sock, ["failed", "program", "x", 2 ** 63, "y", [[2 ** 63, "f"]], None])
while True:
    sock.recv(100)
