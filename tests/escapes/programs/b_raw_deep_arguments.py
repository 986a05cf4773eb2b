nested = None
for _ in range(150):
    nested = [nested]
write_frame(sock, ["done", nested])
while True:
    sock.recv(100)
