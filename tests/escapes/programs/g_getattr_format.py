return str(getattr('{0.x}', 'format'))
