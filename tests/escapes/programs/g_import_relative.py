from . import program
return 1
