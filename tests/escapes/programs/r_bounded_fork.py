import os
pid = os.fork()
if pid == 0:
    os._exit(0)
result = "forked"
