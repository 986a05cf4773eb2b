n = 0
while True:
    n += 1
    write_frame(sock, ["call", n, "net.slow", {"seconds": 60.0}])
    write_frame(sock, ["cancel", n])
