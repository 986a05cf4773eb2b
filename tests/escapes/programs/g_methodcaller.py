import operator
return str(operator.methodcaller('__reduce__')(1))
