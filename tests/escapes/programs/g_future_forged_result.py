f = thinking.set(level='high')
f.__finish__(1, {'level': 'max'}, None)
return 1
