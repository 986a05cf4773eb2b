from collections import _sys
return str(_sys)
