return str(hasattr((), '__cl' + 'ass__'))
