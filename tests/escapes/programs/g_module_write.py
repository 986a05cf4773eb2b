import math
math.sqrt = print
return math.sqrt(4)
