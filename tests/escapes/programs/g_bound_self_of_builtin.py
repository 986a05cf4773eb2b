return str(print.__self__)
