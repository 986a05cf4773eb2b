"""Every limit of the executor section takes effect, is told by its own name and setting, and harms no later run."""

import pytest
import trio

from host_bridge.actions import action
from runtime import open_host

FLOOD = "while True:\n    t.echo(x='y' * 4000)\n    await asyncio.sleep(0)"
LIMITS = [
    ("timeoutMs", 500, "while True:\n    pass"),
    ("cpuSeconds", 1, "while True:\n    pass"),
    ("memoryLimitBytes", 32 << 20, "return len(bytearray(64 << 20))"),
    ("sourceLimitBytes", 1000, "x = 1\n" * 400),
    ("resultLimitBytes", 5000, "return 'x' * 6000"),
    ("frameLimitBytes", 8192, "await t.echo(x='y' * 20000)"),
    ("replyBufferBytes", 20_000, FLOOD),
    ("maxCalls", 5, "for i in range(10):\n    await t.echo(x='a')"),
    ("maxCallsInFlight", 3, "await asyncio.gather(*[t.slow() for i in range(9)])"),
    ("maxTimersInFlight", 5, "await asyncio.gather(*[asyncio.sleep(5) for i in range(9)])"),
]


@action(ref="t.slow", risk="read")
async def slow() -> int:
    await trio.sleep(30)
    return 1


@action(ref="t.echo", risk="read")
def echo(x: str) -> str:
    return x


@pytest.mark.parametrize(("setting", "value", "source"), LIMITS, ids=[row[0] for row in LIMITS])
async def test_a_limit_is_reached_and_named_and_the_next_run_works(setting: str, value: int, source: str) -> None:
    config = {"executor": {"timeoutMs": 20_000, "poolSize": 0, setting: value}}
    async with open_host(config=config, actions=[slow, echo]) as host:
        result = await host.run_program(source)
        assert result.error is not None
        assert result.error.kind == ("rejected" if setting == "sourceLimitBytes" else "limit")
        assert f"(setting executor.{setting})" in result.error.message
        assert (await host.run_program("return 1 + 1")).value == 2


async def test_output_beyond_its_limit_is_dropped_and_says_so() -> None:
    config = {"executor": {"outputLimitBytes": 5000, "poolSize": 0}}
    async with open_host(config=config) as host:
        result = await host.run_program("for i in range(10000):\n    print('x' * 100)\nreturn 1")
    assert result.value == 1
    assert sum(len(line) + 1 for line in result.logs) < 5200
    assert "(setting executor.outputLimitBytes)" in result.logs[-1]
