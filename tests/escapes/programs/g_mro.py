return str(int.mro())
