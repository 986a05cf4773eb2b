"""The resident host: the process in which durable children outlive their session."""
