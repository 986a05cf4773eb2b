tools.read = print
return 1
