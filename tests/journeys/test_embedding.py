"""`open_host` as an embedder uses it: what it takes, what it refuses by name, and programs that run side by side."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from runtime import action, open_host


@action(ref="toy.wait", risk="read")
async def wait(seconds: float) -> float:
    """Wait that long."""
    await trio.sleep(seconds)
    return seconds


def kinds(host: Any) -> Iterable[Any]:
    return [entry.get("data")["kind"] for entry in host.session.branch() if entry.get("customType") == "pi-fabric-run"]


async def test_a_host_opens_without_arguments_and_runs_one_program_after_another() -> None:
    async with open_host() as host:
        first = await host.run_program("print('a')\nreturn input", {"n": 2**80})
        assert (first.ok, first.value, first.error, first.calls, first.logs) == (True, {"n": 2**80}, None, (), ("a",))
        failed = await host.run_program("x = 1\nraise ValueError('q')")
        assert failed.error is not None
        assert (failed.error.kind, failed.error.line, failed.error.source_line) == (
            "program",
            2,
            "raise ValueError('q')",
        )
        assert failed.session is None


async def test_two_programs_on_one_host_overlap_and_their_overrides_end_with_the_last() -> None:
    meeting = [trio.Event(), trio.Event()]

    @action(ref="toy.meet", risk="read")
    async def meet(number: int) -> bool:
        """Wait until the other program is here as well."""
        meeting[number].set()
        await meeting[1 - number].wait()
        return True

    results: dict[int, Any] = {}
    async with open_host(actions=[meet], allow=["write"]) as host:

        async def one(number: int) -> None:
            results[number] = await host.run_program(
                f"await thinking.set(level='high')\nawait toy.meet(number={number})\n"
                "return (await thinking.status()).level"
            )

        with trio.fail_after(20):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(one, 0)
                nursery.start_soon(one, 1)
        assert [results[number].value for number in (0, 1)] == ["high", "high"]
        assert host.session.level == "medium"
        assert kinds(host) == ["done", "done"]


async def test_cancelling_the_caller_kills_the_guest_reverts_and_records() -> None:
    async with open_host(actions=[wait], allow=["write"]) as host:
        for source in ("while True:\n    pass", "await thinking.set(level='max')\nawait toy.wait(seconds=600)"):
            await host.warm()
            with trio.move_on_after(0.5) as scope:
                await host.run_program(source)
            assert scope.cancelled_caught
            assert host.session.level == "medium"
        assert kinds(host) == ["cancelled", "cancelled"]
        assert (await host.run_program("return 1")).value == 1


async def test_what_the_body_raises_comes_out_as_itself() -> None:
    with pytest.raises(KeyError, match="body"):
        async with open_host() as host:
            await host.run_program("return 1")
            raise KeyError("body")


def plain() -> int:
    return 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"actions": [plain]}, "@action"),
        ({"actions": [wait, wait]}, "toy.wait"),
        ({"allow": ["everything"]}, "everything"),
        ({"deny": "nothing"}, "nothing"),
        ({"level": "huge"}, "huge"),
        ({"model": "none/such"}, "none/such"),
        ({"config": {"thinking": {"bound": {}}}}, "bounds"),
        ({"session": "/dev/null"}, "/dev/null"),
        ({"at": "aaaa"}, "aaaa"),
    ],
)
async def test_what_makes_no_sense_is_refused_when_the_host_opens(given: dict[str, Any], said: str) -> None:
    with pytest.raises(Exception, match=said):
        async with open_host(**given):
            pass  # pragma: no cover


async def test_an_interrupt_before_the_first_guest_is_up_ends_the_run_as_cancelled() -> None:
    async with open_host() as host:
        host.interrupt()  # nothing runs: nothing happens
        results: list[Any] = []

        async def one() -> None:
            results.append(await host.run_program("while True:\n    pass"))

        with trio.fail_after(10):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(one)
                await trio.testing.wait_all_tasks_blocked()  # the zygote is on its way
                host.interrupt()
        assert results[0].error.kind == "cancelled"
        assert kinds(host) == ["cancelled"]
        assert (await host.run_program("return 1")).value == 1


async def test_an_approver_is_an_async_function_and_a_broken_one_allows_nothing(tmp_path: Path) -> None:
    asked: list[str] = []

    async def yes(request: Any) -> Any:
        asked.append(request.ref)
        return "once"

    async def broken(request: Any) -> Any:
        raise RuntimeError("no screen")

    source = "return (await thinking.set(level='high')).level"
    async with open_host(approver=yes, session=tmp_path / "new" / "s.jsonl") as host:
        assert (await host.run_program(source)).value == "high"
    assert asked == ["thinking.set"]
    async with open_host(approver=broken) as host:
        refused = await host.run_program(source)
        assert refused.error is not None
        assert refused.error.kind == "denied"
