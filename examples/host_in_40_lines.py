"""Embed the runtime: run a program that you did not write, and read what happened.

    python examples/host_in_40_lines.py

You will see: a value computed in a confined process, effort raised and taken back, and a program
that tried to read a file refused by name.
"""

import trio

from runtime import Answer, ApprovalRequest, open_host

GOOD = """
await thinking.set(level="high", reason="the careful part")
return {"answer": sum(n * n for n in range(input["n"])), "effort": (await thinking.status()).level}
"""
BAD = """
import os
return os.listdir("/")
"""


async def approve(request: ApprovalRequest) -> Answer:
    """Say yes to changes of effort, no to everything else."""
    return "once" if request.ref.startswith("thinking.") else "deny"


async def main() -> None:
    """Two programs, one host."""
    async with open_host(approver=approve) as host:
        good = await host.run_program(GOOD, input={"n": 1000})
        print(good.ok, good.value, f"level afterwards: {host.session.level}")
        bad = await host.run_program(BAD)
        if bad.error is not None:
            print(bad.error.kind, f"line {bad.error.line}:", bad.error.message)


if __name__ == "__main__":
    trio.run(main)
