import time
body = b"\x92\xa4done\xc0"
end = time.monotonic() + 60
for byte in len(body).to_bytes(4, "little") + body[:-1]:
    sock.send(bytes([byte]))
while True:
    sock.recv(100)
