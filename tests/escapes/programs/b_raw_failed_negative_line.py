write_frame(sock, ["failed", "program", "x", -1, "y", [[-1, "f"]], None])
while True:
    sock.recv(100)
