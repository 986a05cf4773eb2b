"""The seed map: every sentence of the specifications, where it lives and which tests hold it."""
