import os
os.execv('/bin/sh', ['sh', '-c', 'true'])
result = 'ran'
