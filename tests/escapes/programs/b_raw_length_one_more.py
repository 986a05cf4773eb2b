sock.sendall((1024 * 1024 + 1).to_bytes(4, "little"))
while True:
    sock.recv(100)
