import msgspec
write_frame(sock, ["done", msgspec.msgpack.Ext(1, b"\xff" * 900000)])
while True:
    sock.recv(100)
