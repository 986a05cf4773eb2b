n = 0
while True:
    n += 1
    write_frame(sock, ["timer", n, 0.0])
