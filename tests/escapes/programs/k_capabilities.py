import os
try:
    os.setuid(0)
    result = "root again"
except OSError:
    os.setpriority(os.PRIO_PROCESS, 0, -5)
    result = "capable"
