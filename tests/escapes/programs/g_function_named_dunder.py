def __import__(*a):
    return 1
import os
return 1
