n = 0
while True:
    n += 1
    write_frame(sock, ["call", n, "x" * 100000, {}])
