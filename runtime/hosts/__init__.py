"""Who owns the level, the model and the branch: a session of our own, or a live Pi."""
