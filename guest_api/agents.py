"""`agents.*` as a program sees it: what a run or a spawn takes and answers; the host decides everything.

Keywords may be written in camel case, as they travel, or in snake case: `thinking_bounds=` is `thinkingBounds=`.
"""

import re
from typing import Any, Final

from guest_api import errors

ROOT: Final = "agents"
ACTIONS: Final = ("agents.run", "agents.spawn")

OF_RUNS: Final = frozenset(
    f"agents.{name}" for name in ("wait", "status", "log", "stop", "steer", "followUp", "cleanup")
)
"""Their first argument may be a handle, an id, or a list of both: `await agents.wait(handle)`."""

_SNAKE: Final = re.compile(r"_([a-z0-9])")


def camel_case(ref: str, keywords: dict[str, Any]) -> dict[str, Any]:
    """The same arguments under their wire names.

    Raises: ActionRejected: one argument under both of its names.
    """
    renamed: dict[str, Any] = {}
    for key, value in keywords.items():
        name = _SNAKE.sub(lambda found: found.group(1).upper(), key) if isinstance(key, str) else key
        if name in renamed:
            raise errors.ActionRejected(f"{ref}: {name!r} is given twice, as {key!r} too", ref=ref)
        renamed[name] = value
    return renamed


def run_first(positional: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Take a leading handle, id or list of runs, and a message after it; a dict of arguments stays what it is."""
    first, *rest = positional
    if isinstance(first, dict) and "runner" in first and "id" not in keywords:
        keywords = {"id": first.get("id"), **keywords}
    elif isinstance(first, str) and "id" not in keywords:
        keywords = {"id": str(first), **keywords}
    elif isinstance(first, list | tuple) and "ids" not in keywords:
        keywords = {"ids": [one.get("id") if isinstance(one, dict) else one for one in first], **keywords}
    else:
        return positional, keywords
    if rest and isinstance(rest[0], str) and "message" not in keywords:
        keywords["message"] = rest.pop(0)
    return tuple(rest), keywords
