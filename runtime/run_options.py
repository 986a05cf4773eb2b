"""The options of `pi-fabric run` as values: parsed, checked against each other, and turned into a host's arguments.

It reads the program and finds the session's file; it opens nothing for writing and runs nothing.
"""

import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from guest_api.levels import Level
from guest_api.values import ValueRefusedError, to_wire
from host_bridge import strict_json
from host_bridge.descriptor import Risk
from host_bridge.limits import RunLimits
from runtime.transcript.folder import newest_session, session_dir_for

MEMORY_UNITS: Final[Mapping[str, int]] = {
    "": 1024 * 1024,
    "K": 1024, "KB": 1024, "KIB": 1024,
    "M": 1024**2, "MB": 1024**2, "MIB": 1024**2,
    "G": 1024**3, "GB": 1024**3, "GIB": 1024**3,
}  # fmt: skip
MINIMUM_MEMORY_BYTES: Final = 16 * 1024 * 1024
"""Below this the interpreter itself does not get through a program."""
MAXIMUM_TIMEOUT_SECONDS: Final = 7 * 24 * 3600.0
STANDARD_INPUT: Final = "-"


class OptionError(ValueError):
    """An option, or two together, that make no sense; the command ends with status 2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What was asked for on the command line."""

    program: str
    input_json: str | None = None
    session: Path | None = None
    continue_newest: bool = False
    session_dir: Path | None = None
    no_session: bool = False
    read_only: bool = False
    at: str | None = None
    level: Level | None = None
    model: str | None = None
    config: Path | None = None
    allow: tuple[Risk, ...] = ()
    deny: tuple[Risk, ...] = ()
    timeout: str | None = None
    max_memory: str | None = None
    prompt: str | None = None
    as_json: bool = False
    quiet: bool = False
    progress: bool | None = None


@dataclass(frozen=True, slots=True)
class SessionChoice:
    """Which session a run goes to."""

    path: Path | None = None
    """The file to create or resume; None: a new one in `folder`, or none at all."""
    folder: Path | None = None
    """Where a new session file goes; None and no path: a session in memory."""


def check(options: RunOptions) -> None:
    """Raises: OptionError: options that exclude each other."""
    ways = [
        name
        for name, given in (
            ("--session", options.session is not None),
            ("--continue", options.continue_newest),
            ("--no-session", options.no_session),
        )
        if given
    ]
    if len(ways) > 1:
        raise OptionError(f"{' and '.join(ways)} exclude each other; name one")
    if options.at is not None and (options.no_session or not ways):
        raise OptionError("--at ENTRY continues an existing session; name it with --session FILE or --continue")
    if options.read_only and (options.no_session or not ways):
        raise OptionError("--read-only reads an existing session; name it with --session FILE or --continue")
    if options.session is not None and options.session_dir is not None:
        raise OptionError("--session names the file itself; --session-dir is for new sessions and --continue")
    both = sorted(set(options.allow) & set(options.deny))
    if both:
        raise OptionError(f"--allow {both[0]} and --deny {both[0]} contradict each other")


def read_program(program: str) -> str:
    """The program's text.

    Raises: OptionError: no such file, or no UTF-8 text.
    """
    if program == STANDARD_INPUT and sys.stdin is None:
        raise OptionError(f"{program}: standard input is closed")
    try:
        data = sys.stdin.buffer.read() if program == STANDARD_INPUT else Path(program).read_bytes()
    except OSError as error:
        raise OptionError(f"{program}: {error.strerror or error}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise OptionError(f"{program}: not UTF-8 text (byte {error.start})") from None


def read_input(text: str | None) -> Any:
    """The value of `--input`; None without it.

    Raises: OptionError: no strict JSON, or a value that cannot cross to the program; NaN, numbers out of range,
        duplicate keys, lone surrogates and trailing text are refused.
    """
    if text is None:
        return None
    try:
        value = strict_json.decode_strict(text)
    except ValueError as error:
        raise OptionError(f"--input is no JSON: {error}") from None
    try:
        to_wire(value)
    except ValueRefusedError as error:
        raise OptionError(f"--input cannot cross: {error}") from None
    return value


def limits_with(options: RunOptions, limits: RunLimits) -> RunLimits:
    """The configuration's limits, with what this run was given instead.

    Raises: OptionError: no number of seconds or bytes that makes sense.
    """
    if options.timeout is not None:
        limits = replace(limits, timeout_seconds=_seconds(options.timeout))
    if options.max_memory is not None:
        limits = replace(limits, memory_bytes=_bytes(options.max_memory))
    return limits


def choose_session(options: RunOptions, cwd: Path) -> SessionChoice:
    """Which file, from the options and what lies in the session folder.

    Raises: OptionError: `--continue` without a session here, `--at` or `--read-only` on a file that is not there.
    """
    if options.no_session:
        return SessionChoice()
    folder = options.session_dir or session_dir_for(cwd)
    if options.continue_newest:
        newest = newest_session(folder, cwd=cwd if options.session_dir is not None else None)
        if newest is None:
            raise OptionError(f"--continue: no session in {folder}; run without it to begin one")
        return SessionChoice(newest)
    if options.session is not None:
        if (options.at is not None or options.read_only) and not options.session.exists():
            raise OptionError(f"{options.session}: no such session file")
        return SessionChoice(options.session)
    return SessionChoice(None, folder)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= MAXIMUM_TIMEOUT_SECONDS:
        raise OptionError(f"--timeout: got {text!r}, wanted seconds above 0 and at most {MAXIMUM_TIMEOUT_SECONDS:g}")
    return seconds


def _bytes(text: str) -> int:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text, re.ASCII)
    unit = MEMORY_UNITS.get(match[2].upper()) if match else None
    if match is None or unit is None:
        raise OptionError(f"--max-memory: got {text!r}, wanted 256M, 256MB, 256MiB, or a plain number of MiB")
    count = int(float(match[1]) * unit)
    if not MINIMUM_MEMORY_BYTES <= count <= 1 << 46:
        raise OptionError(f"--max-memory: got {text!r}, wanted 16M to 65536G")
    return count
