while True:
    write_frame(sock, ["part", b"x" * 500000])
