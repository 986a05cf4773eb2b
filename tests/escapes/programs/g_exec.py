exec('x = 1')
return 1
