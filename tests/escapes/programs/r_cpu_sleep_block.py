import time
time.sleep(10 ** 6)
return 1
