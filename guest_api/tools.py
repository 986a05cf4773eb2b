"""`tools.call` as a program sees it: any action by its ref; the other names of `tools` are actions like all
others.
"""

from typing import Any, Final

ROOT: Final = "tools"
CALL: Final = "tools.call"


def named(positional: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """`tools.call("t.echo", {"i": 1})` in its keyword form, `tools.call(ref="t.echo", args={"i": 1})`."""
    if not positional or not isinstance(positional[0], str) or "ref" in keywords:
        return positional, keywords
    keywords = {"ref": positional[0], **keywords}
    positional = positional[1:]
    if positional and "args" not in keywords:
        keywords["args"] = positional[0]
        positional = positional[1:]
    return positional, keywords
