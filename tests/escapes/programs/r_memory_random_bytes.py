import random
return len(random.randbytes(10 ** 10))
