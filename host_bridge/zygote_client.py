"""The pool of idle, confined guests: checkout, keep the head one and our own path hot, refill, replace the zygote.

It starts no process itself (`zygote_process.py`) and speaks no program's bridge (`guest_process.py`).
Refills stay off the critical path. A checkout takes an idle guest without waiting; beyond the pool, or for other
limits, a guest is forked on demand.
"""

import math
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import trio

from host_bridge.confinement_plan import ConfinementPlan, GuestLimits
from host_bridge.errors import IsolationUnavailableError
from host_bridge.processors import a_processor_is_free
from host_bridge.rehearsal import Rehearsal
from host_bridge.run_outcome import GuestExit
from host_bridge.zygote_launch import LaunchedZygote
from host_bridge.zygote_process import Guest, ZygoteProcess
from host_bridge.zygote_template import ZygoteTemplate

__all__ = ["Guest", "GuestExit", "GuestPool", "open_guest_pool"]

FORKS_PER_ZYGOTE: Final = 1000
"""Guests of one zygote share a hash secret; a new one costs 0.2 s of one core, 0.2 ms a guest."""
WARM_INTERVAL_MS: Final = 20
"""How often the head guest is re-warmed: caches cool within tens of milliseconds."""
EXPECTED_SECONDS: Final = 0.02
"""How long the head guest waits awake for a program that was announced."""
AWAKE_SECONDS: Final = 0.12
"""After a program, the next guest waits awake this long, since programs come in bursts: 120 ms of an idle processor
for each program. Where others want the processors it sleeps: a process that waited awake has lost its turn."""
SETTLE_SECONDS: Final = 0.002
"""After a program its guest still dies and others look runnable; the question who is free is asked this much later."""
HOT_SECONDS: Final = 2.0
"""After the last program or `expect_program`, the head guest stays hot this long; an idle host costs nothing."""
REFILL_DELAY_SECONDS: Final = 0.01
"""While an idle guest is left, a refill waits for the running programs, this long at most."""
START_ATTEMPTS: Final = 3
"""How many zygotes in a row may die before a checkout gives up."""


class GuestPool:
    """Idle guests and the zygote behind them. Opened by `open_guest_pool`."""

    def __init__(
        self,
        plan: ConfinementPlan,
        limits: GuestLimits,
        pool_size: int,
        awake_seconds: float,
        language_layer: bool,
        nursery: trio.Nursery,
    ) -> None:
        self._plan = plan
        self._awake_seconds = awake_seconds
        self._limits = limits
        self._pool_size = pool_size
        self._language_layer = language_layer
        self._nursery = nursery
        self._template: ZygoteTemplate | None = None
        self._launched: LaunchedZygote | None = None
        self._idle: deque[Guest] = deque()
        self._running: set[Guest] = set()
        self._zygotes: list[ZygoteProcess] = []
        self._start_lock = trio.Lock()
        self._refill_wanted = trio.Event()
        self._activity = trio.Event()
        self._hot_until = 0.0
        self._awake_until = 0.0
        self._settled_at = 0.0
        self._rehearsal = Rehearsal()
        self._closing = False

    def use_template(self, template: ZygoteTemplate | None) -> None:
        """Fork zygotes from this warm process from now on."""
        self._template = template

    def use_launched(self, launched: LaunchedZygote | None) -> None:
        """Let the first zygote be this one, whose cold start has begun."""
        self._launched = launched

    @property
    def skipped_layers(self) -> tuple[str, ...]:
        """Names of the protections that are missing here."""
        return tuple(self._zygotes[-1].skipped) if self._zygotes else ()

    @property
    def skipped_reasons(self) -> dict[str, str]:
        """Protection to the reason why it is missing here."""
        return dict(self._zygotes[-1].skipped) if self._zygotes else {}

    @property
    def idle_guests(self) -> tuple[Guest, ...]:
        """Those that wait for a program, the hot one first."""
        return tuple(self._idle)

    @property
    def zygote_pid(self) -> int | None:
        """Pid of the newest zygote's outer process, for measuring."""
        return self._zygotes[-1].pid if self._zygotes else None

    async def checkout(self, limits: GuestLimits | None = None) -> Guest:
        """A ready guest for one program; the caller closes it (`aclose`).

        Raises: IsolationUnavailableError: a strict protection is missing, or no zygote stays alive.
        """
        wanted = limits or self._limits
        if wanted == self._limits:
            await trio.lowlevel.checkpoint_if_cancelled()
            while self._idle:
                guest = self._idle.popleft()
                if guest.exit is None:
                    self._took(guest)
                    return guest
                guest.close_now()  # the kernel needed its memory, or somebody killed it
        guest = await self._fork(wanted)
        self._took(guest)
        return guest

    def expect_program(self) -> None:
        """A program follows within milliseconds: the head guest warms, waits awake, and stays hot for HOT_SECONDS."""
        self._expect(min(EXPECTED_SECONDS, self._awake_seconds), settle_seconds=0)

    def _took(self, guest: Guest) -> None:
        guest.on_close = self._gave_back
        self._running.add(guest)
        self._refill_wanted.set()
        self._hot_until = trio.current_time() + HOT_SECONDS

    def _gave_back(self, guest: Guest) -> None:
        self._running.discard(guest)
        self._expect(self._awake_seconds, settle_seconds=SETTLE_SECONDS)

    def _expect(self, awake_seconds: float, *, settle_seconds: float) -> None:
        now = trio.current_time()
        self._hot_until = now + HOT_SECONDS
        self._awake_until = max(self._awake_until, now + awake_seconds)
        self._settled_at = now + settle_seconds
        self._activity.set()

    async def _warm(self) -> None:
        """The head guest, and then the host itself."""
        if not self._idle:
            return
        head, left = self._idle[0], self._awake_until - trio.current_time()
        may_wait_awake = left > 0 and not self._running and a_processor_is_free(awake=int(head.waits_awake))
        head.warm(math.ceil(left * 1000) if may_wait_awake else 0)
        if not self._running:
            await self._rehearsal.play()

    async def _fork(self, limits: GuestLimits) -> Guest:
        for attempt in range(1, START_ATTEMPTS + 1):
            zygote = await self._zygote()
            try:
                return await zygote.fork(limits, language_layer=self._language_layer)
            except IsolationUnavailableError:
                if attempt == START_ATTEMPTS or not zygote.lost:
                    raise
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _zygote(self) -> ZygoteProcess:
        """The current zygote, or a new one where it is gone or has forked enough."""
        async with self._start_lock:
            if self._closing:
                raise IsolationUnavailableError(["process_boundary: the pool is closed"])
            current = self._zygotes[-1] if self._zygotes else None
            if current is not None and not current.lost and current.fork_count < FORKS_PER_ZYGOTE:
                return current
            fresh = ZygoteProcess(self._plan, self._template, self._launched)
            try:
                await fresh.start()
            except BaseException:
                with trio.CancelScope(shield=True):
                    fresh.hang_up()
                    await fresh.stop()
                raise
            self._nursery.start_soon(self._run_zygote, fresh)
            self._zygotes.append(fresh)
            if current is not None:
                self._drop_idle_guests_of(current)
                current.retire()
            return fresh

    def _drop_idle_guests_of(self, old: ZygoteProcess) -> None:
        for guest in list(self._idle):
            if guest.comes_from(old):
                self._idle.remove(guest)
                guest.close_now()

    async def _run_zygote(self, zygote: ZygoteProcess) -> None:
        await zygote.run()
        self._zygotes = [other for other in self._zygotes if other is not zygote] or [zygote]
        if zygote.fork_count > self._pool_size:  # one that dies at once is replaced by the next checkout, not in a loop
            self._refill_wanted.set()

    async def refill_forever(self) -> None:
        """Keep the pool full, away from the programs that run."""
        while True:
            await self._refill_wanted.wait()
            self._refill_wanted = trio.Event()
            if self._idle:
                await trio.sleep(REFILL_DELAY_SECONDS)
            for guest in [idle for idle in self._idle if idle.exit is not None]:
                self._idle.remove(guest)
                guest.close_now()
            while len(self._idle) < self._pool_size:
                try:
                    guest = await self._fork(self._limits)
                except IsolationUnavailableError:
                    break  # the next checkout meets the same and can say so
                guest.warm()
                self._idle.append(guest)

    async def keep_head_hot(self) -> None:
        """Re-warm the head guest, and the host itself, while programs come; then sleep until the next one."""
        while True:
            hot = trio.current_time() < self._hot_until
            with trio.move_on_after(WARM_INTERVAL_MS / 1000 if hot else math.inf):
                await self._activity.wait()
                self._activity = trio.Event()
                with trio.move_on_after(WARM_INTERVAL_MS / 1000):  # with one processor, none ever gets free
                    await self._settle()
            await self._warm()

    async def _settle(self) -> None:
        await trio.sleep_until(self._settled_at)
        while not a_processor_is_free():  # noqa: ASYNC110  nobody tells when one gets free; the caller gives up soon
            await trio.sleep(SETTLE_SECONDS)

    async def open(self) -> None:
        """The first guest: what is missing is known before anything is promised.

        Raises: IsolationUnavailableError
        """
        guest = await self._fork(self._limits)
        guest.warm()
        self._idle.append(guest)
        self._refill_wanted.set()
        self._expect(self._awake_seconds, settle_seconds=SETTLE_SECONDS)

    async def close(self) -> None:
        """End every guest and every zygote; bounded by the zygote's own stop."""
        self._closing = True
        for zygote in self._zygotes:
            zygote.hang_up()
        for zygote in list(self._zygotes):
            await zygote.wait_stopped()
        for guest in [*self._idle, *self._running]:  # after the waits: a refill may have ended during them
            guest.close_now()

    def end(self) -> None:
        """Give back what its tasks used, once they are gone."""
        self._rehearsal.close()


@asynccontextmanager
async def open_guest_pool(
    plan: ConfinementPlan,
    *,
    limits: GuestLimits | None = None,
    pool_size: int = 4,
    awake_seconds: float = AWAKE_SECONDS,
    language_layer: bool = True,
    template: ZygoteTemplate | None = None,
    launched: LaunchedZygote | None = None,
) -> AsyncIterator[GuestPool]:
    """A pool of `pool_size` idle guests; on leaving, no guest and no zygote is left.

    `pool_size` 0: one guest is ready at once, and no further one is kept (a host for one program).
    `awake_seconds`: how long the next guest waits awake after a program, on a processor that nobody wants; 0: never.
    `template`: where zygotes are forked from a warm process instead of started cold.
    `launched`: a zygote whose cold start has begun; it becomes the first one.
    `language_layer=False` gives raw guests, which run anything: only attack tests and the self-test use them.
    Raises: IsolationUnavailableError: a strict protection is missing here; the message names it and the way out.
    """
    failure: BaseException | None = None
    pool: GuestPool | None = None
    try:
        async with trio.open_nursery() as nursery:
            pool = GuestPool(plan, limits or GuestLimits(), pool_size, awake_seconds, language_layer, nursery)
            pool.use_template(template)
            pool.use_launched(launched)
            try:
                await pool.open()
                nursery.start_soon(pool.refill_forever)
                nursery.start_soon(pool.keep_head_hot)
                yield pool
            except BaseException as error:  # raised again outside the nursery, which would wrap it into a group
                failure = error
            finally:
                with trio.CancelScope(shield=True):
                    await pool.close()
                nursery.cancel_scope.cancel()
    finally:
        if pool is not None:
            pool.end()
    if failure is not None:
        raise failure
