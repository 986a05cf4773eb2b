import os
os.kill(os.getppid(), 0)
result = os.listdir("/proc")
