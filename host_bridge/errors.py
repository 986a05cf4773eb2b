"""Errors of the bridge that some caller handles differently."""

from collections.abc import Sequence


class BridgeError(Exception):
    """Base of what the bridge raises."""


class IsolationUnavailableError(BridgeError):
    """A strict protection is missing here, so no guest is started (exit status 3)."""

    def __init__(self, missing: Sequence[str], *, detail: str = "") -> None:
        self.missing = tuple(missing)
        """One entry a missing protection: `seccomp: CONFIG_SECCOMP_FILTER is off`."""
        self.detail = detail
        super().__init__("isolation is unavailable: " + "; ".join(self.missing) + (f" ({detail})" if detail else ""))
