"""`pi.grep` and `pi.find`: one search in a process of its own, killed with the call or the host; it reads no file."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import trio

from host_bridge.errors import HandlerError
from host_bridge.kept_process import open_kept
from runtime.pi_tools.confined import Project

GREP_LIMIT: Final = 100
FIND_LIMIT: Final = 1000
"""As Pi's `grep` and `find`."""
SEARCH_SECONDS: Final = 60.0
ANSWER_BYTES: Final = 32 * 1024 * 1024
_PACKAGES: Final = str(Path(__file__).resolve().parents[2])
_WORKER: Final = (
    f"import sys; sys.path.insert(0, {_PACKAGES!r}); from runtime.pi_tools import search_worker as w; w.main()"
)


async def search(project: Project, action: str, request: dict[str, Any], *, more_hint: str) -> str:
    """What the worker found, one line a hit; empty: nothing fits.

    A search that stopped at its limit says so in its last line.

    Raises: HandlerError: the pattern or the path is wrong, or the search took too long.
    """
    sent = json.dumps({"action": action, "root": str(project.root), "outside": project.outside, **request}).encode()
    kept = await open_kept(
        [sys.executable, "-I", "-c", _WORKER],
        environment={"LC_ALL": "C.UTF-8"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    process = kept.process
    answer = bytearray()
    try:
        with trio.move_on_after(SEARCH_SECONDS) as scope:
            assert process.stdin is not None  # noqa: S101  opened with pipes
            assert process.stdout is not None  # noqa: S101
            await process.stdin.send_all(sent)
            await process.stdin.aclose()
            while data := await process.stdout.receive_some(1024 * 1024):
                answer += data
                if len(answer) > ANSWER_BYTES:
                    raise HandlerError(f"pi.{action}: more than {ANSWER_BYTES} bytes of hits; narrow it down", "limit")
            await process.wait()
    finally:
        await kept.reap()
        with trio.CancelScope(shield=True):
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    await stream.aclose()
    if scope.cancelled_caught:
        raise HandlerError(
            f"pi.{action} took longer than {SEARCH_SECONDS:g} s; narrow the path or the pattern", "limit"
        )
    try:
        found = json.loads(bytes(answer))
    except ValueError:
        raise HandlerError(f"pi.{action}: the search ended without an answer (status {process.returncode})") from None
    if not found["ok"]:
        raise HandlerError(f"pi.{action}: {found['message']}", found["kind"])
    notes = []
    if found["more"]:
        notes.append(f"stopped at {found['matches']} {more_hint}")
    if found["skipped"]:
        notes.append(f"{found['skipped']} binary or very large files were left out")
    lines = list(found["lines"])
    if notes:
        lines.append(f"[{'; '.join(notes)}]")
    return "\n".join(lines)
