return str(type(thinking)("thinking.__class__"))
