import operator
return str(operator.attrgetter)
