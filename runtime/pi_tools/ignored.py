"""Which files `.gitignore` leaves out, as far as searching needs it. Standard library only: a worker loads it."""

import re
from dataclasses import dataclass
from typing import Final

ALWAYS: Final = frozenset({".git"})
LINE_CHARACTERS: Final = 500
"""A longer pattern is nobody's."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of a `.gitignore` in the folder `base` (`""` is the top, else `a/b/`)."""

    expression: re.Pattern[str]
    base: str
    keeps: bool
    folders_only: bool
    prefix: str = ""
    """What leads from the pattern's folder down to the searched one, when the pattern comes from above it."""


def patterns(text: str, base: str) -> list[Pattern]:
    """The patterns of one file, in order."""
    found: list[Pattern] = []
    for raw in text.splitlines():
        line = raw.rstrip()
        if not line or line.startswith("#") or len(line) > LINE_CHARACTERS:
            continue
        keeps = line.startswith("!")
        line = line.removeprefix("!").removeprefix("\\")
        folders_only = line.endswith("/")
        line = line.rstrip("/")
        anchored = "/" in line
        line = line.lstrip("/")
        if line:
            found.append(Pattern(re.compile(glob_expression(line, anywhere=not anchored)), base, keeps, folders_only))
    return found


def is_ignored(path: str, rules: list[Pattern], *, folder: bool) -> bool:
    """Whether the last pattern that fits leaves `path` out."""
    if path.rpartition("/")[2] in ALWAYS:
        return True
    for rule in reversed(rules):
        if rule.folders_only and not folder:
            continue
        if path.startswith(rule.base) and rule.expression.fullmatch(rule.prefix + path[len(rule.base) :]):
            return not rule.keeps
    return False


def glob_expression(glob: str, *, anywhere: bool) -> str:
    """A glob as a regular expression over a relative path: `*` and `?` stay inside a name, `**` crosses folders."""
    out = "(?:.*/)?" if anywhere else ""
    at = 0
    while at < len(glob):
        if glob.startswith("**/", at):
            out += "(?:.*/)?"
            at += 3
        elif glob.startswith("**", at):
            out += ".*"
            at += 2
        elif glob[at] == "*":
            out += "[^/]*"
            at += 1
        elif glob[at] == "?":
            out += "[^/]"
            at += 1
        elif glob[at] == "[" and (end := glob.find("]", at + 2)) > 0:
            inside = glob[at + 1 : end].replace("\\", "\\\\")
            out += f"[^{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]"
            at = end + 1
        elif glob[at] == "{" and (end := glob.find("}", at)) > 0:
            choices = glob[at + 1 : end].split(",")
            out += "(?:" + "|".join(glob_expression(choice, anywhere=False) for choice in choices) + ")"
            at = end + 1
        elif glob[at] == "\\" and at + 1 < len(glob):
            out += re.escape(glob[at + 1])
            at += 2
        else:
            out += re.escape(glob[at])
            at += 1
    return out
