"""Runners: what process a kind of child is, and what its output means; each is two pure functions."""
