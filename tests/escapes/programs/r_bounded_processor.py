import time
end = time.process_time() + 2.5
while time.process_time() < end:
    pass
return "more than the processor limit"
