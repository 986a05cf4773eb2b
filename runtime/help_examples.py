"""The examples at the end of a command's `--help`, in one shape; it knows no command."""


def examples(*lines: str) -> str:
    """An epilog that click leaves as it is: one example per line."""
    return "\n".join(("\b", "Examples:", *(f"  {line}" for line in lines)))
