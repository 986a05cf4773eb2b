return sorted([1, "x"], key=lambda each: each.__class__.__name__)
