import random
return str(random._os.environ)
