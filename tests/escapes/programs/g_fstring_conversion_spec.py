return f"{1:{().__class__}}"
