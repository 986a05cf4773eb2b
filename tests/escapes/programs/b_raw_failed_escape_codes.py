write_frame(sock, ["failed", "program", "\x1b[2J\x1b]0;owned\x07" * 1000])
while True:
    sock.recv(100)
