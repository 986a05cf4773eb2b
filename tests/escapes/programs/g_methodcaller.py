import operator
return str(operator.methodcaller('__sizeof__')(1))
