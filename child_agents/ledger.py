"""What all descendants of one root used together: counted across processes in one locked file that survives crashes.

One JSON line a fact, appended under `flock`; every process reads only what is new to it. A process that dies leaves
its facts behind, and a torn line is skipped. Invariant: a launch is counted before its process exists.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from child_agents.errors import LaunchRefusedError


@dataclass(slots=True)
class LedgerTotals:
    """Sums over one root."""

    descendants: int = 0
    """Launches so far."""
    live: int = 0
    """Launches whose end is not recorded: running, or lost in a crash."""
    cost: float = 0.0
    """US dollars."""
    turns: int = 0
    deepest: int = 0
    open_runs: set[str] = field(default_factory=set)
    cost_by_run: dict[str, float] = field(default_factory=dict)
    """US dollars of each run that cost anything."""
    cost_below: dict[str, float] = field(default_factory=dict)
    """US dollars of each run and everything below it."""
    parents: dict[str, str] = field(default_factory=dict)
    caps: dict[str, float] = field(default_factory=dict)
    """US dollars that each run may cost with everything below it."""

    def over_cap(self, run_id: str, *, reached: bool = False) -> str | None:
        """The nearest of this run and those above it that cost more than it may; `reached`: as much counts too."""
        for above in self.chain(run_id):
            spent, cap = self.cost_below.get(above, 0.0), self.caps.get(above)
            if cap is not None and (spent > cap or (reached and spent >= cap > 0)):
                return above
        return None

    def chain(self, run_id: str) -> Iterator[str]:
        """This run and those above it; a ledger that was tampered with does not lead in circles."""
        seen: set[str] = set()
        while run_id and run_id not in seen:
            yield run_id
            seen.add(run_id)
            run_id = self.parents.get(run_id, "")


class _Fact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    op: str
    run: str
    depth: int = 0
    cost: float = 0.0
    turns: int = 0
    parent: str = ""
    cap: float | None = None


_decoder = msgspec.json.Decoder(_Fact)


class Ledger:
    """The ledger of one root."""

    def __init__(self, folder: Path, root_id: str) -> None:
        self.path = folder / f"{root_id}.jsonl"
        self._totals = LedgerTotals()
        self._offset = 0

    def reserve(
        self,
        run_id: str,
        *,
        depth: int,
        max_descendants: int,
        max_cost: float,
        parent: str = "",
        cap: float | None = None,
    ) -> None:
        """Count one launch, or refuse it. `cap`: what this run may cost with everything below it.

        Raises: LaunchRefusedError: a limit of the whole tree is reached; nothing was counted.
        """
        with self._locked() as descriptor:
            totals = self._read(descriptor)
            if totals.descendants >= max_descendants:
                raise LaunchRefusedError(
                    f"{totals.descendants} agents were started below this root; "
                    f"the limit is {max_descendants} (setting agents.maxDescendants)",
                    setting="agents.maxDescendants",
                    requested=totals.descendants + 1,
                    effective=max_descendants,
                )
            if totals.cost > 0 and totals.cost >= max_cost:
                raise LaunchRefusedError(
                    f"the agents below this root cost {totals.cost:.4f} US dollars; "
                    f"the limit is {max_cost:g} (setting agents.maxCost)",
                    setting="agents.maxCost",
                    requested=totals.cost,
                    effective=max_cost,
                )
            above = totals.over_cap(parent, reached=True)
            if above is not None:
                raise LaunchRefusedError(
                    f"the run {above} and the agents below it cost {totals.cost_below[above]:.4f} US dollars; "
                    f"the limit is {totals.caps[above]:g} (setting agents.maxCost)",
                    setting="agents.maxCost",
                    requested=totals.cost_below[above],
                    effective=totals.caps[above],
                )
            self._append(descriptor, _Fact(op="start", run=run_id, depth=depth, parent=parent, cap=cap))

    def spend(self, run_id: str, *, cost: float = 0.0, turns: int = 0) -> LedgerTotals:
        """Add what a run used; the totals after it."""
        with self._locked() as descriptor:
            self._read(descriptor)
            self._append(descriptor, _Fact(op="spend", run=run_id, cost=cost, turns=turns))
            return self._totals

    def finish(self, run_id: str) -> None:
        """The run is over."""
        with self._locked() as descriptor:
            self._read(descriptor)
            self._append(descriptor, _Fact(op="end", run=run_id))

    def totals(self) -> LedgerTotals:
        """The sums now."""
        with self._locked() as descriptor:
            return self._read(descriptor)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)

    def _read(self, descriptor: int) -> LedgerTotals:
        size = os.fstat(descriptor).st_size
        data = os.pread(descriptor, max(0, size - self._offset), self._offset)
        whole = data.rpartition(b"\n")[0]
        for line in whole.split(b"\n"):
            with contextlib.suppress(msgspec.MsgspecError):
                self._add(_decoder.decode(line))
        if whole:
            self._offset += len(whole) + 1
        if self._offset < size:
            # A writer died inside its line: end it, so that the next fact starts afresh.
            os.write(descriptor, b"\n")
        return self._totals

    def _append(self, descriptor: int, fact: _Fact) -> None:
        line = msgspec.json.encode(fact) + b"\n"
        os.write(descriptor, line)
        self._read(descriptor)

    def _add(self, fact: _Fact) -> None:
        totals = self._totals
        if fact.op == "start":
            totals.descendants += 1
            totals.open_runs.add(fact.run)
            totals.parents[fact.run] = fact.parent
            if fact.cap is not None:
                totals.caps[fact.run] = fact.cap
            totals.deepest = max(totals.deepest, fact.depth)
        elif fact.op == "spend":
            totals.cost += fact.cost
            totals.cost_by_run[fact.run] = totals.cost_by_run.get(fact.run, 0.0) + fact.cost
            totals.turns += fact.turns
            for above in totals.chain(fact.run):
                totals.cost_below[above] = totals.cost_below.get(above, 0.0) + fact.cost
        elif fact.op == "end":
            totals.open_runs.discard(fact.run)
        totals.live = len(totals.open_runs)
