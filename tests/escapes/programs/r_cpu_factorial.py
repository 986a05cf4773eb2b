import math
return math.factorial(5_000_000).bit_length()
