write_frame(sock, ["part", b"[" * 200000 + b"]" * 200000])
write_frame(sock, ["done", None, 1])
while True:
    sock.recv(100)
