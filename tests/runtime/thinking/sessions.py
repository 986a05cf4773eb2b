"""A thinking session over the real store, in a file or in memory, with everything a test looks at."""

from pathlib import Path

from guest_api.bounds import UNBOUNDED, Bounds
from runtime.events import LevelChanged, SessionStarted, TreeNavigated
from runtime.hosts.local import LocalHost
from runtime.models import Model, ModelCatalog
from runtime.thinking.controller import ThinkingController
from runtime.thinking.override import SetRequest
from runtime.transcript.store import TranscriptStore

FULL = Model(provider="t", id="full", reasoning=True, thinking_level_map={"xhigh": "x", "max": "m"})
PLAIN = Model(provider="t", id="plain", reasoning=True)
"""off, minimal, low, medium, high."""
SILENT = Model(provider="t", id="silent", reasoning=False)


def only(model_id: str, *levels: str) -> Model:
    """A model that supports exactly these levels."""
    from guest_api.levels import LEVELS

    entries = {level: (level if level in levels else None) for level in LEVELS}
    return Model(provider="t", id=model_id, reasoning=True, thinking_level_map=entries)


GAPS = only("gaps", "off", "low", "high", "max")
LOW_MAX = only("low-max", "low", "max")
CATALOG = ModelCatalog([FULL, PLAIN, SILENT, GAPS, LOW_MAX])


class Session:
    """What the real session does for thinking, without the rest of the runtime."""

    def __init__(
        self,
        store: TranscriptStore,
        *,
        model: Model | None = None,
        bounds: Bounds = UNBOUNDED,
        inherited: bool = False,
        now_ms: int = 1_800_000_000_000,
        host_type: type[LocalHost] = LocalHost,
        catalog: ModelCatalog = CATALOG,
    ) -> None:
        self.warnings: list[str] = []
        self.changes: list[LevelChanged] = []
        self.store = store
        self.host = host_type(store, catalog=catalog, model=model, warn=self.warnings.append)
        self.now_ms = now_ms
        self.thinking = ThinkingController(self.host, bounds, inherited=inherited, clock=lambda: self.now_ms)
        self.host.due = self.thinking
        self.host.on_level_changed = self._changed

    async def _changed(self, event: LevelChanged) -> None:
        self.changes.append(event)
        await self.thinking.level_changed(event)

    async def start(self, reason: str = "startup") -> "Session":
        await self.thinking.session_started(SessionStarted(reason, self.store.branch()))
        return self

    async def navigate(self, entry_id: str | None) -> None:
        self.store.navigate(entry_id)
        await self.thinking.tree_navigated(TreeNavigated(self.store.branch()))

    async def set_model(self, model: Model) -> None:
        await self.host.set_model(model)
        await self.thinking.model_changed()

    async def person(self, level: str) -> None:
        await self.host.set_level_by_person(level)

    async def set(self, level: str, scope: str = "turn", turns: int | None = None, reason: str | None = None) -> dict:
        return await self.thinking.set(SetRequest(level=level, scope=scope, turns=turns, reason=reason))

    async def reset(self) -> dict:
        return await self.thinking.reset()

    async def end_run(self) -> None:
        await self.thinking.agent_ended()

    @property
    def level(self) -> str:
        return self.host.level

    @property
    def status(self) -> dict:
        return self.thinking.status()

    def records(self) -> list:
        """The `override` of every thinking entry on the branch."""
        return [entry.data["override"] for entry in self.store.branch() if entry.custom_type == "pi-fabric-thinking"]

    def kinds(self) -> list[str]:
        """The branch in short: `override`, `null`, or the level of a change; model changes left out."""
        names = []
        for entry in self.store.branch():
            if entry.custom_type == "pi-fabric-thinking":
                names.append("override" if entry.data["override"] else "null")
            elif entry.type == "thinking_level_change":
                names.append(entry.thinking_level)
            elif entry.type != "model_change":
                names.append(entry.type)
        return names


def new_file(path: Path) -> TranscriptStore:
    return TranscriptStore.create(path, cwd="/project", durability="none")


def reopened(path: Path) -> TranscriptStore:
    return TranscriptStore.open(path, durability="none")


async def started(path: Path | None = None, **options) -> Session:
    """A new session, or the one in `path` where there is one."""
    if path is None:
        store = TranscriptStore.in_memory(cwd="/project")
    else:
        store = reopened(path) if path.exists() else new_file(path)
    return await Session(store, **options).start()
