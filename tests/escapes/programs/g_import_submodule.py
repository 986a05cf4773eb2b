import os.path
return str(os)
