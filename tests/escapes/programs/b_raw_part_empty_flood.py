while True:
    write_frame(sock, ["part", b""])
