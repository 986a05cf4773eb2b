while True:
    write_frame(sock, ["log", "x" * 1000])
