"""Runs a folder of attack programs in real, confined guests, each in one of its own, whole or with one layer taken away."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from host_bridge.actions import action
from host_bridge.admission import Admission
from host_bridge.approvals import ApprovalPolicy
from host_bridge.confinement_plan import BY_NAME, ConfinementPlan, GuestLimits
from host_bridge.descriptor import RISKS
from host_bridge.guest_process import run_program
from host_bridge.limits import RunLimits
from host_bridge.registry import Registry
from host_bridge.run_outcome import RunOutcome
from host_bridge.zygote_client import GuestPool, open_guest_pool
from tests.escapes.judge import Attack, Verdict, judge

LANGUAGE = "language"
LAYERS = (LANGUAGE, *(name for name in BY_NAME if name != "process_boundary"))
"""What `--ablate` can take away; without a process there is no guest to attack from."""

WALL_SECONDS = 6.0
BUSY_WALL_SECONDS = 60.0
CPU_SECONDS = 2
MEMORY_BYTES = 256 * 1024 * 1024
_NEVER_WITHOUT = {"rlimits": frozenset({"resource"}), "seccomp": frozenset(), LANGUAGE: frozenset()}
"""Kinds that are not run without a layer: the machine itself would pay."""
_NEVER_FILES_WITHOUT = {
    "rlimits": frozenset({"k03_fork_bomb.py", "k26_cpu_spin.py"}),
    "seccomp": frozenset({"k03_fork_bomb.py"}),
}

_UNCHECKED = """\
import ast as _ast
_tree = _ast.parse({source!r})
_body = _tree.body or [_ast.Pass()]
_def = _ast.parse("async def main(): pass").body[0]
_def.body = _body
_module = _ast.fix_missing_locations(_ast.Module([_def], []))
_space = {{"__name__": "__main__", "input": None}}
exec(compile(_module, "<program>", "exec"), _space)
try:
    _space["main"]().send(None)
    raise RuntimeError("the program waits for a host that is not there")
except StopIteration as _stop:
    result = repr(_stop.value)
"""
"""A language program without the language layer: the same wrapping, no policy, the real builtins."""


def load(folder: Path) -> list[Attack]:
    return [Attack.from_index(entry) for entry in json.loads((folder / "index.json").read_text())]


def source_of(folder: Path, attack: Attack) -> str:
    path = folder / attack.file
    if not path.exists() and attack.file == "r09_compile_bomb_lines.py":
        return "x = 1\n" * 400_000  # 2.4 MB of one line; made here instead of kept
    return path.read_text(encoding="utf-8")


def _admission() -> Admission:
    """A host with every class allowed: an attack must be stopped by a layer, not by an approval."""

    def set_level(level: str = "high") -> dict[str, Any]:
        return {"level": level}

    def read(path: Any = None, n: Any = None, s: Any = None) -> str:
        return f"{path!r:.20} {n!r:.20} {s!r:.20}"

    async def slow(seconds: float = 0.01) -> str:
        await trio.sleep(seconds)
        return "slow"

    def run(**options: Any) -> dict[str, Any]:
        return options

    registry = Registry()
    registry.replace_source("thinking", [action(set_level, ref="thinking.set", risk="write")])
    registry.replace_source("tools", [action(read, ref="tools.read", risk="read")])
    registry.replace_source("agents", [action(run, ref="agents.run", risk="agent")])
    registry.replace_source("net", [action(slow, ref="net.slow", risk="network")])
    return Admission(registry, policy=ApprovalPolicy(modes=dict.fromkeys(RISKS, "allow")))


@asynccontextmanager
async def open_arena(*ablated: str) -> AsyncIterator["Arena"]:
    """Pools of whole and raw guests, with the named layers disabled."""
    plan = ConfinementPlan.default()
    for layer in ablated:
        if layer != LANGUAGE:
            plan = plan.without(layer)
    limits = GuestLimits(memory_bytes=MEMORY_BYTES, cpu_seconds=CPU_SECONDS)
    async with (
        open_guest_pool(plan, limits=limits, pool_size=1, language_layer=LANGUAGE not in ablated) as whole,
        open_guest_pool(plan, limits=limits, pool_size=1, language_layer=False) as raw,
    ):
        yield Arena(whole, raw, ablated)


class Arena:
    """Where attacks are run."""

    def __init__(self, whole: GuestPool, raw: GuestPool, ablated: tuple[str, ...]) -> None:
        self._whole = whole
        self._raw = raw
        self._ablated = ablated
        self._admission = _admission()

    def skips(self, attack: Attack) -> bool:
        """Whether running this attack without the ablated layers would harm the machine that tests."""
        return not attack.bounded and any(
            attack.kind in _NEVER_WITHOUT.get(layer, ()) or attack.file in _NEVER_FILES_WITHOUT.get(layer, ())
            for layer in self._ablated
        )

    async def run(self, attack: Attack, source: str) -> Verdict:
        """The verdict on one attack. Where the deadline came before what was expected, a busy machine is given longer:
        the limit of processor time still ends what never would.
        """
        outcome = await self.outcome_of(attack, source)
        verdict = judge(attack, outcome.error, outcome.value)
        late = outcome.error is not None and outcome.error.limit == "timeout"
        if verdict.passed or not late:
            return verdict
        outcome = await self.outcome_of(attack, source, wall_seconds=BUSY_WALL_SECONDS)
        return judge(attack, outcome.error, outcome.value)

    async def outcome_of(self, attack: Attack, source: str, wall_seconds: float = WALL_SECONDS) -> RunOutcome:
        """How the run ended."""
        pool = self._raw if attack.raw else self._whole
        if LANGUAGE in self._ablated and not attack.raw:
            source = _UNCHECKED.format(source=source)
        guest = await pool.checkout()
        try:
            return await run_program(
                guest,
                source,
                None,
                admission=self._admission,
                limits=RunLimits(timeout_seconds=wall_seconds, cpu_seconds=CPU_SECONDS, memory_bytes=MEMORY_BYTES),
                run_id="attack",
            )
        finally:
            await guest.aclose()
