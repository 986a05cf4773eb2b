"""Host functions of your own, called in parallel from a confined program.

    python examples/parallel_calls.py

You will see: three lookups that wait half a second each finish together, and one that fails raises
at its own `await` without disturbing the others.
"""

import time

import trio

from runtime import action, open_host

PROGRAM = """
results = await asyncio.gather(
    *[weather.lookup(city=city) for city in input["cities"]],
    return_exceptions=True,
)
return [str(result) if isinstance(result, ActionError) else result for result in results]
"""


@action(ref="weather.lookup", risk="read")
async def lookup(city: str) -> str:
    """The weather of a city, from a slow service."""
    await trio.sleep(0.5)
    if city == "Atlantis":
        raise LookupError("no such city: Atlantis")
    return f"{city}: sunny"


async def main() -> None:
    """Run the program and print what came back."""
    async with open_host(actions=[lookup]) as host:
        started = time.perf_counter()
        result = await host.run_program(PROGRAM, input={"cities": ["Lisbon", "Oslo", "Atlantis"]})
        print(*(result.value or [result.error]), sep="\n")
        for call in result.calls:
            print(f"{call.ref} {'ok' if call.error is None else call.error.kind} after {call.ms:.0f} ms")
        print(f"all three in {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    trio.run(main)
