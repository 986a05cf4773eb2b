"""Side-by-side measurements; each module has `main() -> dict`, prints its table and returns what is stored."""
