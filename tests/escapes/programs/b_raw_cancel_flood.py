while True:
    write_frame(sock, ["cancel", 1])
