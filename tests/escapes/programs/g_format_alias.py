f = '{0}'.format
return f(1)
