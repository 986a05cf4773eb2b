return len(f"{1:1000000000}")
