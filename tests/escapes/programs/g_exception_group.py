raise ExceptionGroup('x', [ValueError()])
