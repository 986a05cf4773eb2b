"""bash: output and exit code, secrets kept back, and nothing left behind however it ends."""

import os
import time
from pathlib import Path

import pytest
import trio

from host_bridge.excerpt import SHOWN_BYTES
from host_bridge.process_tree import members
from runtime.pi_tools.shell import MARKER, shell_environment
from tests.runtime.pi_tools.tools import Tools, project_in


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    return Tools(project_in(tmp_path))


def marked() -> list[int]:
    """Every process that any of our commands left behind."""
    found = []
    for path in Path("/proc").iterdir():
        if path.name.isdecimal() and int(path.name) != os.getpid():
            try:
                if MARKER.encode() + b"=" in (path / "environ").read_bytes() and "Z" not in _state(path):
                    found.append(int(path.name))
            except OSError:
                continue
    return found


def _state(path: Path) -> str:
    return (path / "stat").read_text().rpartition(")")[2].split()[0]


async def test_output_and_exit_code(tools: Tools) -> None:
    done = await tools.value("bash", command="echo out; echo err >&2; pwd")
    assert done["output"] == f"out\nerr\n{tools.root}\n"
    assert (done["ok"], done["exitCode"], done["truncated"]) == (True, 0, False)


async def test_a_failed_command_is_an_error_unless_it_is_settled(tools: Tools) -> None:
    kind, message = await tools.refusal("bash", command="echo before; exit 3")
    assert (kind, message) == ("host", "pi.bash: the command exited with 3 (settle=True returns it):\nbefore")
    settled = await tools.value("bash", command="echo before; exit 3", settle=True)
    assert (settled["ok"], settled["exitCode"], settled["output"]) == (False, 3, "before\n")
    killed = await tools.value("bash", command="kill -TERM $$", settle=True)
    assert killed["exitCode"] == 143
    kind, message = await tools.refusal("bash", command="kill -TERM $$")
    assert "was killed by SIGTERM" in message


async def test_long_output_keeps_head_and_tail_and_lies_whole_in_a_file(tools: Tools) -> None:
    done = await tools.value("bash", command="echo HEAD; head -c 34000000 /dev/zero | tr '\\0' x; echo TAIL")
    assert done["truncated"] is True
    assert done["output"].startswith("HEAD\n")
    assert done["output"].endswith("TAIL\n")
    assert f"all of it is in {done['fullOutputPath']}" in done["output"]
    assert len(Path(done["fullOutputPath"]).read_bytes()) == 34_000_010
    assert len(done["output"]) < SHOWN_BYTES + 500


async def test_output_arrives_whole_up_to_the_cap_of_every_source_and_lies_in_no_file(tools: Tools) -> None:
    done = await tools.value("bash", command="head -c 5000000 /dev/zero | tr '\\0' x")
    assert (done["truncated"], done["output"]) == (False, "x" * 5_000_000)
    assert "fullOutputPath" not in done
    assert list((tools.root.parent / "results").rglob("*.txt")) == []


async def test_output_that_is_no_text_and_would_grow_past_the_cap_lies_in_a_file(tools: Tools) -> None:
    done = await tools.value("bash", command="head -c 12000000 /dev/zero | tr '\\0' '\\377'")
    assert done["truncated"] is True
    assert Path(done["fullOutputPath"]).stat().st_size == 12_000_000
    assert done["output"].startswith("\ufffd")
    assert len(done["output"]) < SHOWN_BYTES + 500


TREES = {
    "child": "sleep 987 & sleep 987",
    "own session": "setsid sleep 987 & sleep 987",
    "double fork": "(setsid sh -c 'sleep 987 & exit' &) ; sleep 987",
    "deaf": "trap '' TERM INT HUP; (trap '' TERM; sleep 987) & sleep 987",
    "nested": "bash -c 'bash -c \"setsid sleep 987 & sleep 987\" & sleep 987'",
}


@pytest.mark.parametrize("tree", TREES)
async def test_a_timeout_kills_the_whole_tree(tools: Tools, tree: str) -> None:
    started = time.monotonic()
    kind, message = await tools.refusal("bash", command=TREES[tree], timeout=0.4)
    assert (kind, "took longer than timeout=0.4 s" in message) == ("limit", True)
    assert marked() == []
    assert time.monotonic() - started < 20


async def test_a_timeout_is_an_error_even_when_settled(tools: Tools) -> None:
    kind, message = await tools.refusal("bash", command="echo so far; sleep 987", timeout=0.4, settle=True)
    assert (kind, message.endswith("so far")) == ("limit", True)


async def test_cancelling_the_call_kills_the_whole_tree(tools: Tools) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: tools.value("bash", command=f"touch started; {TREES['double fork']}"))
        with trio.fail_after(20):
            while not (tools.root / "started").exists() or len(marked()) < 2:
                await trio.sleep(0.01)
        nursery.cancel_scope.cancel()
    assert marked() == []


async def test_background_jobs_end_with_their_command(tools: Tools) -> None:
    with trio.fail_after(20):
        done = await tools.value("bash", command="setsid sleep 987 & sleep 987 & echo started")
    assert done["output"] == "started\n"
    assert marked() == []


async def test_a_command_cannot_read_from_the_terminal(tools: Tools) -> None:
    assert (await tools.value("bash", command="cat; echo end"))["output"] == "end\n"


async def test_secrets_of_the_host_stay_with_the_host() -> None:
    host = {
        "PATH": "/bin",
        "OPENAI_API_KEY": "x",
        "GH_TOKEN": "x",
        "DB_PASSWORD": "x",
        "PI_FABRIC_DEPTH": "1",
        "LANG": "C",
    }
    assert shell_environment(host) == {"PATH": "/bin", "LANG": "C"}


async def test_an_embedder_may_give_the_environment(tmp_path: Path) -> None:
    tools = Tools(project_in(tmp_path), environment={"PATH": os.environ["PATH"], "GIVEN": "yes"})
    assert (await tools.value("bash", command="echo $GIVEN"))["output"] == "yes\n"


async def test_bad_arguments_are_named(tools: Tools) -> None:
    assert (await tools.refusal("bash", command="x", timeout=0))[0] == "rejected"
    kind, message = await tools.refusal("bash", cmd="x")
    assert (kind, "cmd" in message) == ("rejected", True)


def test_a_tree_is_found_by_session_and_never_includes_the_caller() -> None:
    assert os.getpid() not in members(os.getsid(0))
