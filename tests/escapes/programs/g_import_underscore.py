import _thread
return 1
