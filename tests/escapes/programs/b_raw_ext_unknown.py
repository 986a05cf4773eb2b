import msgspec
write_frame(sock, ["done", msgspec.msgpack.Ext(5, b"x")])
while True:
    sock.recv(100)
