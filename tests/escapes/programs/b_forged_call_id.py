write_frame(sock, ['call', 5, 'thinking.set', {'level': 'high'}])
write_frame(sock, ['call', 5, 'thinking.set', {'level': 'high'}])
import time
while True:
    sock.recv(100)
