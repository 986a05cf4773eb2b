import msgspec
write_frame(sock, ["done", [msgspec.msgpack.Ext(1, b"\x7f" * 8000)] * 100 + [msgspec.msgpack.Ext(2, b"")]])
while True:
    sock.recv(100)
