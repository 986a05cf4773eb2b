import socket
s = socket.socket(socket.AF_UNIX)
result = 'socket'
