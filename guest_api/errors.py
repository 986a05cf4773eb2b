"""What a guest program may catch when a host call does not succeed; each class exists for a different reaction."""

from typing import Final, Literal, TypeAlias

RefusalKind: TypeAlias = Literal["rejected", "denied", "host", "limit", "cancelled"]


class ActionError(Exception):
    """A host call did not succeed; `ref` names the call, `message` says what to do."""

    kind: RefusalKind = "host"

    def __init__(self, message: str, *, ref: str = "", details: object = None) -> None:
        super().__init__(message)
        self.message = message
        self.ref = ref
        self.details = details


class ActionRejected(ActionError):  # noqa: N818  the word that programs catch, like PermissionDenied elsewhere
    """The call itself was wrong: unknown action or bad arguments. Nothing ran."""

    kind = "rejected"


class ActionDenied(ActionError):  # noqa: N818
    """Policy or person refused: approvals, schema mode. Nothing ran."""

    kind = "denied"


class ActionFailed(ActionError):  # noqa: N818
    """The action ran and failed; what it did before failing may have happened."""

    kind = "host"


class ActionLimit(ActionError):  # noqa: N818
    """A limit of the run was reached; the message names the limit and its setting."""

    kind = "limit"


class ActionCancelled(ActionError):  # noqa: N818
    """The call was cancelled before it finished."""

    kind = "cancelled"


BY_KIND: Final[dict[str, type[ActionError]]] = {
    cls.kind: cls for cls in (ActionRejected, ActionDenied, ActionFailed, ActionLimit, ActionCancelled)
}


def error_from_refusal(kind: str, message: str, *, ref: str, details: object = None) -> ActionError:
    """The exception that a refused call raises inside the program."""
    return BY_KIND.get(kind, ActionFailed)(message, ref=ref, details=details)
