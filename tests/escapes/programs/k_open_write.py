open('/tmp/attack-of-a-guest', 'w').write('x')
result = 'written'
