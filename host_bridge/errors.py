"""What can go wrong at the wall, for callers that react to it; nothing here prints or decides."""

from collections.abc import Sequence
from typing import Any

from guest_api.errors import RefusalKind


class BridgeError(Exception):
    """Any failure that the bridge names itself."""


class IsolationUnavailableError(BridgeError):
    """A protection that may not be skipped does not work here; `missing` names each, with what would provide it."""

    def __init__(self, missing: Sequence[str], *, detail: str = "") -> None:
        self.missing = tuple(missing)
        """One entry a missing protection: `seccomp: CONFIG_SECCOMP_FILTER is off`."""
        self.detail = detail
        hint = detail or "`pi-fabric doctor` shows every layer"
        super().__init__(f"isolation is unavailable: {'; '.join(self.missing)} ({hint})")


class RefTakenError(BridgeError, ValueError):
    """Two sources, or one source twice, claim the same ref; nothing was registered."""

    def __init__(self, ref: str, source: str, owner: str) -> None:
        self.ref = ref
        self.source = source
        self.owner = owner
        super().__init__(f"{source!r} cannot register {ref!r}: it belongs to {owner!r}")


class InvalidRefError(BridgeError, ValueError):
    """A ref that no program could call by that name."""

    def __init__(self, ref: str, reason: str) -> None:
        self.ref = ref
        self.reason = reason
        super().__init__(f"ref {ref!r}: {reason}")


class RuleFileError(BridgeError):
    """The stored approval rules cannot be read or written; no rule of them applies."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path}: {reason}")


class HandlerError(BridgeError):
    """What a handler raises for the program: `kind` says whose fault it is, `message` what to do.

    `rejected` the arguments were wrong and nothing ran; `denied` policy refused; `limit` a limit was reached;
    `cancelled` it was cancelled; `host` the action ran and failed.
    """

    def __init__(self, message: str, kind: RefusalKind = "host", details: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.kind: RefusalKind = kind
        self.details = details


def lone(error: BaseException) -> BaseException:
    """The one exception in groups of one, however deep; the error itself where it is no group, or holds several."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
