from os import *
return 1
