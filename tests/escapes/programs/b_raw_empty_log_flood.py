while True:
    write_frame(sock, ["log", ""])
