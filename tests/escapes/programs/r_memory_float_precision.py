return len(f"{1.5:.1000000000f}")
