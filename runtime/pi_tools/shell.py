"""`pi.bash`: one command in the project's folder; whatever it started is gone when the call is over.

It runs under a keeper, so a process that left the session or was orphaned twice is found too, and a host that is killed
takes it along; a marker in the environment finds the rest of a command that killed its keeper. Background jobs end with
their command.
"""

import os
import re
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import trio

from host_bridge.errors import HandlerError
from host_bridge.excerpt import SHOWN_BYTES
from host_bridge.kept_process import open_kept
from host_bridge.results import ARRIVAL_BYTES, ResultFolder, ResultTooLargeError
from host_bridge.spill import Spill

OUTPUT_BYTES: Final = ARRIVAL_BYTES - SHOWN_BYTES
"""Of one command's output in its result: what may arrive of any source, with room for the other fields. When there is
more, head and tail come as they are shown, and a file has all of it."""
MEMORY_BYTES: Final = 1024 * 1024
"""Of a command's output while it runs: many may run at once, and the rest waits in a file."""
ERROR_BYTES: Final = 2000
"""Of the output's end in the message of a failed command."""
LONGEST_SECONDS: Final = 24 * 3600.0
DRAIN_SECONDS: Final = 1.0
"""To read what is still in the pipe after the tree was killed."""
MARKER: Final = "PI_FABRIC_CALL"
_SECRET: Final = re.compile(r"(API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|PRIVATE_KEY)", re.IGNORECASE)


def shell_environment(host: Mapping[str, str]) -> dict[str, str]:
    """The host's environment without what looks like a secret and without our own variables."""
    return {key: value for key, value in host.items() if not _SECRET.search(key) and not key.startswith("PI_FABRIC_")}


async def run_command(
    command: str,
    *,
    folder: Path,
    environment: Mapping[str, str],
    timeout_seconds: float | None,
    settle: bool,
    files: ResultFolder,
) -> dict[str, Any]:
    """Run `command` with bash and return its output and exit code.

    `settle`: a command that fails is a result with `ok` False, not an error. A timeout is always an error.

    Raises: HandlerError: it failed (and not `settle`), took too long, or could not be started.
    """
    marker = uuid.uuid4().hex
    shell = shutil.which("bash", path=environment.get("PATH", os.defpath))
    if shell is None:
        raise HandlerError("pi.bash: there is no bash on the PATH of this host")
    started = time.monotonic()
    try:
        kept = await open_kept(
            [shell, "-c", command],
            environment={**environment, MARKER: marker},
            cwd=folder,
            marker=f"{MARKER}={marker}",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    except (OSError, ValueError) as error:
        raise HandlerError(f"pi.bash could not start: {error}") from None
    process = kept.process
    with files.spill("pi.bash", memory_bytes=MEMORY_BYTES, whole_bytes=OUTPUT_BYTES) as output:
        try:
            with trio.move_on_after(LONGEST_SECONDS if timeout_seconds is None else timeout_seconds) as scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(_capture, process, output)
                    # Its keeper ends after it, and after the jobs that it left in the background.
                    await process.wait()
                    nursery.cancel_scope.deadline = trio.current_time() + DRAIN_SECONDS
        finally:
            await kept.reap()
            if process.stdout is not None:
                await _close(process.stdout)
        seconds = time.monotonic() - started
        if scope.cancelled_caught:
            raise HandlerError(
                f"pi.bash took longer than timeout={timeout_seconds:g} s and was killed{_ending(output)}", "limit"
            )
        code = process.returncode if process.returncode is not None else 1
        code = 128 - code if code < 0 else code
        failed = code != 0 and not settle
        text = "" if failed else _text(output)  # a failure tells the end; what is in a file by now stays there
        result: dict[str, Any] = {
            "ok": code == 0,
            "output": text,
            "exitCode": code,
            "truncated": output.path is not None,
            "wallTimeSeconds": round(seconds, 3),
        }
        if output.path is not None:
            result["fullOutputPath"] = str(output.path)
        if failed:
            how = f"was killed by {signal.Signals(code - 128).name}" if _is_signal(process) else f"exited with {code}"
            details = {key: result[key] for key in result if key != "output"}
            raise HandlerError(f"pi.bash: the command {how} (settle=True returns it){_ending(output)}", "host", details)
        return result


async def _capture(process: trio.Process, output: Spill) -> None:
    assert process.stdout is not None  # noqa: S101  opened with pipes
    try:
        while data := await process.stdout.receive_some(64 * 1024):
            output.write(bytes(data))
    except (OSError, ResultTooLargeError) as error:
        raise HandlerError(f"pi.bash: its output could not be kept: {error}") from None


def _text(output: Spill) -> str:
    try:
        return output.text()
    except OSError as error:
        raise HandlerError(f"pi.bash: its output could not be kept: {error}") from None


async def _close(stream: Any) -> None:
    with trio.CancelScope(shield=True):
        await stream.aclose()


def _ending(output: Spill) -> str:
    text = output.ending(ERROR_BYTES).strip()
    if not text:
        return ""
    return f":\n{text}" if output.total_bytes <= ERROR_BYTES else f":\n[…]{text}"


def _is_signal(process: trio.Process) -> bool:
    return process.returncode is not None and process.returncode < 0
