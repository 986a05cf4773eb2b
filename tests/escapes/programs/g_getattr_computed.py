return str(getattr((), '__cl' + 'ass__'))
