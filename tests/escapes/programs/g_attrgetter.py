from operator import attrgetter
return str(attrgetter('__class__')(1))
