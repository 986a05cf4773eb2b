return str(compile('1', 'x', 'eval'))
