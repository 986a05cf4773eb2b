import os
result = os.listdir('/')
