return f"{().__class__=}"
