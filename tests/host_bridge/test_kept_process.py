"""A command's tree ends with the command, with the order to end it, and with a host that is killed."""

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import trio

from host_bridge.kept_process import executable, open_kept

ENVIRONMENT = {"PATH": os.environ["PATH"]}
DEEP = """
sleep 3600 & echo $! >> "$PIDS"
setsid sleep 3601 & echo $! >> "$PIDS"
setsid env -i sh -c 'echo $$ >> "$1"; exec sleep 3602' sh "$PIDS" &
(setsid sh -c 'setsid sleep 3603 & echo $! >> "$PIDS"' &)
echo $$ >> "$PIDS"
while [ $(wc -l < "$PIDS") -lt 5 ]; do sleep 0.01; done
echo ready
"""
"""A job, one with a session of its own, one without the environment too, and one that nobody is the parent of."""
PROJECT = Path(__file__).parents[2]


def is_alive(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def pids_in(file: Path) -> list[int]:
    return [int(line) for line in file.read_text().split()]


def assert_gone(pids: list[int]) -> None:
    """Wait for the kernel; what is not gone by then is killed and named."""
    end = time.monotonic() + 10
    while any(is_alive(pid) for pid in pids) and time.monotonic() < end:
        select.select([], [], [], 0.01)
    left = [pid for pid in pids if is_alive(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []


async def started(script: str, **more: str) -> trio.Process:
    kept = await open_kept(
        ["bash", "-c", script], environment={**ENVIRONMENT, **more}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    return kept.process


async def text_of(process: trio.Process) -> str:
    assert process.stdout is not None
    data = bytearray()
    async for part in process.stdout:
        data += part
    await process.stdout.aclose()
    return data.decode()


async def test_the_status_and_the_output_are_the_commands_own() -> None:
    for script, status in (("echo hi; exit 7", 7), ("echo hi; kill -TERM $$", -15), ("echo hi; kill -KILL $$", -9)):
        process = await started(script)
        assert await text_of(process) == "hi\n"
        assert await process.wait() == status


async def test_the_environment_and_the_signals_are_what_was_given() -> None:
    kept = await open_kept(
        [sys.executable, "-I", "-S", "-c", SHOW], environment={"B": "ä\udcff"}, stdout=subprocess.PIPE
    )
    given = ignored_here() & ~OF_PYTHON
    assert await text_of(kept.process) == f"[b'B=\\xc3\\xa4\\xff'] {given:016x} [0, 1, 2]\n"
    await kept.reap()


OF_PYTHON = 1 << 12 | 1 << 24
"""PIPE and XFSZ, which every Python ignores for itself."""


def ignored_here() -> int:
    """What this process was started with as ignored (some runners ignore a real-time signal)."""
    status = Path("/proc/self/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("SigIgn")), 16)


SHOW = """
import os
status = open('/proc/self/status').read()
ignored = next(line.split()[1] for line in status.splitlines() if line.startswith('SigIgn'))
real = open('/proc/self/environ', 'rb').read().split(b'\\0')[:-1]
mine = int(ignored, 16) & ~(1 << 12) & ~(1 << 24)  # this Python's own: PIPE and XFSZ
print(real, f'{mine:016x}', sorted(int(fd) for fd in os.listdir('/proc/self/fd'))[:-1])
"""


async def test_whatever_a_command_left_behind_ends_with_it(tmp_path: Path) -> None:
    process = await started(DEEP, PIDS=str(tmp_path / "pids"))
    with trio.fail_after(20):
        await text_of(process)
        await process.wait()
    assert_gone(pids_in(tmp_path / "pids"))


async def test_the_order_to_end_reaches_every_process_of_the_tree(tmp_path: Path) -> None:
    kept = await open_kept(
        ["bash", "-c", f"trap '' TERM HUP INT; {DEEP} sleep 3604"],
        environment={**ENVIRONMENT, "PIDS": str(tmp_path / "pids")},
        stdout=subprocess.PIPE,
    )
    assert kept.process.stdout is not None
    with trio.fail_after(20):
        assert b"ready" in await kept.process.stdout.receive_some()
        await kept.reap()
    await kept.process.stdout.aclose()
    assert kept.process.returncode == -9
    assert_gone(pids_in(tmp_path / "pids"))


async def test_a_command_that_kills_its_keeper_is_found_by_its_marker(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = 'setsid sleep 3605 & echo $! >> "$PIDS"; kill -KILL $PPID; sleep 3606'
    kept = await open_kept(
        ["bash", "-c", script], environment={**ENVIRONMENT, "PIDS": str(pids), "MARK": "m1"}, marker="MARK=m1"
    )
    with trio.fail_after(20):
        assert await kept.process.wait() == -9
        await kept.reap()
    assert_gone(pids_in(pids))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_host_takes_the_whole_tree_along(tmp_path: Path, number: signal.Signals) -> None:
    host = subprocess.Popen(
        [sys.executable, "-P", "-c", HOST, DEEP + "sleep 3607", str(tmp_path / "pids")],
        stdout=subprocess.PIPE,
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )
    assert host.stdout is not None
    assert host.stdout.readline() == b"ready\n"
    host.send_signal(number)
    host.wait()
    host.stdout.close()
    assert_gone(pids_in(tmp_path / "pids"))


HOST = """
import os, sys, trio
from host_bridge.kept_process import open_kept

async def main():
    await open_kept(["bash", "-c", sys.argv[1]], environment={**os.environ, "PIDS": sys.argv[2]})
    await trio.sleep_forever()

trio.run(main)
"""


async def test_a_command_that_cannot_be_started_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("no program")
    for name, kind in (
        ("no-such-command", FileNotFoundError),
        ("./none", FileNotFoundError),
        ("./plain", PermissionError),
    ):
        with pytest.raises(kind):
            await open_kept([name], environment=ENVIRONMENT, cwd=tmp_path)
    with pytest.raises(FileNotFoundError):
        await open_kept(["ls"], environment=ENVIRONMENT, cwd=tmp_path / "gone")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(ValueError, match="null"):
        await open_kept(["ls", "a\0b"], environment=ENVIRONMENT, cwd=tmp_path)
    assert len(os.listdir("/proc/self/fd")) == before


async def test_a_file_that_is_no_program_says_so_on_standard_error(tmp_path: Path) -> None:
    (tmp_path / "odd").write_text("\x7fELF no")
    (tmp_path / "odd").chmod(0o755)
    kept = await open_kept(["./odd"], environment=ENVIRONMENT, cwd=tmp_path, stderr=subprocess.PIPE)
    assert kept.process.stderr is not None
    assert b"cannot start" in await kept.process.stderr.receive_some()
    await kept.process.stderr.aclose()
    assert await kept.process.wait() == 127


def test_a_name_is_found_on_the_commands_own_path(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    assert executable("tool", environment={"PATH": str(tmp_path)}) == str(tool)
    assert executable("./tool", environment={}, cwd=tmp_path) == str(tmp_path / "tool")
