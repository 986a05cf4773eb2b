"""The process in which `grep` and `find` look: one request on standard input, one answer on standard output.

A regular expression of a program can run for ever, and it would hold the host's interpreter while it does; here it
burns a process that is killed. Standard library only. It reads below the project's folder and writes nothing.
"""

import json
import os
import re
import resource
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from runtime.pi_tools.confined import OutsideProjectError, Project
from runtime.pi_tools.ignored import Pattern, glob_expression, is_ignored, patterns

LINE_CHARACTERS: Final = 500
"""What is shown of one line; as Pi's `grep`."""
FILE_BYTES: Final = 64 * 1024 * 1024
"""A larger file is left out, and the answer says so."""
BINARY_PROBE_BYTES: Final = 8192
MEMORY_BYTES: Final = 1024 * 1024 * 1024


def main() -> None:
    """Answer one request."""
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    request = json.load(sys.stdin)
    try:
        answer = {"ok": True, **(_grep(request) if request["action"] == "grep" else _find(request))}
    except OutsideProjectError as error:
        answer = {"ok": False, "kind": "denied", "message": str(error)}
    except re.error as error:
        answer = {"ok": False, "kind": "rejected", "message": f"pattern: {error} in {request['pattern']!r:.200}"}
    except (OSError, ValueError) as error:
        text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        answer = {"ok": False, "kind": "host", "message": f"{request.get('path') or '.'}: {text}"}
    except MemoryError:
        answer = {"ok": False, "kind": "limit", "message": "the search needs more than 1 GiB of memory"}
    sys.stdout.write(json.dumps(answer))


def _grep(request: dict[str, Any]) -> dict[str, Any]:
    text = re.escape(request["pattern"]) if request["literal"] else request["pattern"]
    expression = re.compile(text, re.IGNORECASE if request["ignoreCase"] else 0)
    project = Project(request["root"], outside=request["outside"])
    start = request["path"] or "."
    chosen = _chooser(request["glob"]) if request["glob"] else None
    lines: list[str] = []
    count, skipped, more = 0, 0, False
    for shown, opened in _files(project, start):
        if chosen is not None and not chosen(shown):
            continue
        content = _content(project, opened)
        if content is None:
            skipped += 1
            continue
        found, more = _matches(content, expression, shown, request["context"], request["limit"] - count)
        lines += found[0]
        count += found[1]
        if more:
            break
    return {"lines": lines, "matches": count, "more": more, "skipped": skipped}


def _matches(
    content: str, expression: re.Pattern[str], shown: str, context: int, room: int
) -> tuple[tuple[list[str], int], bool]:
    """The shown lines of one file and how many of them match; True: there was one more than `room`."""
    lines = content.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    out: list[str] = []
    count, done = 0, 0
    for index, line in enumerate(lines):
        if not expression.search(line.removesuffix("\r")):
            continue
        if count == room:
            return (out, count), True
        count += 1
        if context and out and max(done, index - context) > done:
            out.append("--")
        out += [f"{shown}-{at + 1}- {_short(lines[at])}" for at in range(max(done, index - context), index)]
        if index >= done:
            out.append(f"{shown}:{index + 1}: {_short(line)}")
        elif context:
            # It was already shown as the context of an earlier match.
            out[-(done - index)] = f"{shown}:{index + 1}: {_short(line)}"
        after = min(len(lines), index + 1 + context)
        out += [f"{shown}-{at + 1}- {_short(lines[at])}" for at in range(max(done, index + 1), after)]
        done = max(done, after)
    return (out, count), False


def _find(request: dict[str, Any]) -> dict[str, Any]:
    project = Project(request["root"], outside=request["outside"])
    chosen = _chooser(request["pattern"])
    found: list[str] = []
    with project.folder(request["path"] or "."):
        pass
    for shown, _, folder in _entries(project, request["path"] or "."):
        if chosen(shown):
            if len(found) == request["limit"]:
                return {"lines": found, "matches": len(found), "more": True, "skipped": 0}
            found.append(f"{shown}/" if folder else shown)
    return {"lines": found, "matches": len(found), "more": False, "skipped": 0}


def _chooser(glob: str) -> Any:
    """A test for paths relative to the searched folder; a glob without `/` is for names at any depth."""
    text = re.sub(r"^(!?)(?:\./)+", r"\1", glob)
    negated = text.startswith("!")
    text = text.removeprefix("!").rstrip("/")
    expression = re.compile(glob_expression(text.lstrip("/"), anywhere="/" not in text))
    return lambda shown: (expression.fullmatch(shown) is not None) != negated


def _files(project: Project, start: str) -> Iterator[tuple[str, str]]:
    """Name as shown and path of every file below `start`, or of `start` itself."""
    handle = project.open(start, os.O_RDONLY | os.O_NONBLOCK)
    try:
        is_folder = stat.S_ISDIR(os.fstat(handle).st_mode)
    finally:
        os.close(handle)
    if not is_folder:
        yield os.path.basename(start), start  # noqa: PTH119
        return
    for shown, path, folder in _entries(project, start):
        if not folder:
            yield shown, path


def _entries(project: Project, start: str) -> Iterator[tuple[str, str, bool]]:
    """Everything below a folder in the order of its names, without what `.gitignore` leaves out, links not followed.

    Ignore files above `start`, up to the project's folder, count as well.
    """
    yield from _walk(project, start, "", _inherited(project, start), depth=0)


def _walk(
    project: Project, start: str, below: str, rules: list[Pattern], depth: int
) -> Iterator[tuple[str, str, bool]]:
    path = f"{start.rstrip('/')}/{below}" if below else start
    entries: list[tuple[str, bool]] = []
    try:
        with project.folder(path) as handle, os.scandir(handle) as found:
            for entry in found:
                with suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        entries.append((entry.name, True))
                    elif entry.is_file(follow_symlinks=False):
                        entries.append((entry.name, False))
    except OSError:
        return
    if (".gitignore", False) in entries:
        rules = [*rules, *_rules(project, f"{path.rstrip('/')}/.gitignore", below)]
    for name, folder in sorted(entries):
        shown = f"{below}{name}"
        if is_ignored(shown, rules, folder=folder):
            continue
        yield shown, f"{start.rstrip('/')}/{shown}", folder
        if folder and depth < 100:
            yield from _walk(project, start, f"{shown}/", rules, depth + 1)


def _inherited(project: Project, start: str) -> list[Pattern]:
    """The patterns of the folders above `start`, as they are matched from there."""
    try:
        parts = [part for part in project.relative(start).split("/") if part not in ("", ".")]
    except OSError:
        return []
    if ".." in parts or project.outside:
        return []
    rules: list[Pattern] = []
    for index in range(len(parts)):
        above, rest = "/".join(parts[:index]), "/".join(parts[index:])
        found = _rules(project, f"{above}/.gitignore" if above else ".gitignore", "")
        rules += [replace(rule, prefix=f"{rest}/") for rule in found]
    return rules


def _rules(project: Project, path: str, base: str) -> list[Pattern]:
    try:
        with os.fdopen(project.open_file(path, os.O_RDONLY), "rb") as file:
            return patterns(file.read(1024 * 1024).decode("utf-8", "replace"), base)
    except (OSError, re.error):
        return []


def _content(project: Project, path: str) -> str | None:
    """The text of a file; None: binary, too large, or not readable."""
    try:
        with os.fdopen(project.open_file(path, os.O_RDONLY), "rb") as file:
            probe = file.read(BINARY_PROBE_BYTES)
            if b"\0" in probe:
                return None
            data = probe + file.read(FILE_BYTES)
    except OSError:
        return None
    return None if len(data) > FILE_BYTES else data.decode("utf-8", "replace")


def _short(line: str) -> str:
    text = line.removesuffix("\r")
    return text if len(text) <= LINE_CHARACTERS else f"{text[:LINE_CHARACTERS]}… [line has {len(text)} characters]"


if __name__ == "__main__":
    main()
