"""One row of the seed map."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, init=False)
class Row:
    """Where a requirement lives (`file:symbol`) and the tests that hold it; or why it is still open."""

    symbols: tuple[str, ...]
    tests: tuple[str, ...]
    missing: str | None

    def __init__(self, symbols: str | Sequence[str], tests: Sequence[str], missing: str | None = None) -> None:
        object.__setattr__(self, "symbols", (symbols,) if isinstance(symbols, str) else tuple(symbols))
        object.__setattr__(self, "tests", tuple(tests))
        object.__setattr__(self, "missing", missing)

    @classmethod
    def open(cls, missing: str) -> "Row":
        """A requirement that is not built yet, and what is missing."""
        return cls((), (), missing)
