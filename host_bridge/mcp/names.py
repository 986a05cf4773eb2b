"""How server and tool names become the parts of a ref: callable as attributes, and never two names on one part."""

import hashlib
import keyword
import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from guest_api.inside.names import FORMATTERS, attribute_problem

PART_CHARACTERS: Final = 100
"""A ref has three parts and at most 256 characters."""
_FORBIDDEN: Final = re.compile(r"\W")


def attribute_name(name: str) -> str:
    """`name` as an attribute that a program may write: `get-issue` is `get_issue`, `2fa` is `n2fa`.

    Two names may come out alike; `ref_parts` tells them apart.
    """
    # Python folds identifiers to NFKC when it reads a program, so a ref must already be folded.
    text = _FORBIDDEN.sub("_", unicodedata.normalize("NFKC", name))[:PART_CHARACTERS]
    if not text.strip("_"):
        text = f"n{text}"
    if not text[0].isidentifier() or text[0] == "_":
        text = f"n{text}"
    if not text.isidentifier():
        text = _FORBIDDEN.sub("_", text.encode("ascii", "replace").decode())
    if keyword.iskeyword(text):
        return f"{text}_"
    # A few words are refused as attributes of anything in a program (`gi_code`, `mro`).
    return text if text in FORMATTERS or attribute_problem(text) is None else f"n{text}"


def ref_parts(names: Iterable[str]) -> dict[str, str]:
    """Each name with its own part of the ref, whatever the order they come in.

    A name that needs no change keeps its part; of several that would share one, each other gets a suffix made of its
    own spelling (`get_issue_1f3a9c`), so that the order of a server's list never decides who is called.
    """
    distinct = list(dict.fromkeys(names))
    wanted: dict[str, list[str]] = {}
    for name in distinct:
        wanted.setdefault(attribute_name(name), []).append(name)
    parts: dict[str, str] = {}
    taken = {name for name in distinct if attribute_name(name) == name}
    for part, sharing in wanted.items():
        for name in sharing:
            if name == part or (len(sharing) == 1 and part not in taken):
                parts[name] = part
            else:
                parts[name] = _suffixed(part, name, taken)
            taken.add(parts[name])
    return parts


def may_be_part(name: str, part: str) -> bool:
    """Whether `ref_parts` could give `name` this part, whatever other names stand beside it."""
    own = attribute_name(name)
    return part == own or part.startswith(f"{_stem(own)}_")


def _stem(part: str) -> str:
    return part[: PART_CHARACTERS - 25]


def _suffixed(part: str, name: str, taken: set[str]) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    for length in (6, 12, 24, 64):
        candidate = f"{_stem(part)}_{digest[:length]}"
        if candidate not in taken:
            return candidate
    raise ValueError(f"no part of a ref is left for {name!r}")
