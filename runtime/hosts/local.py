"""Our own session behind the port: level and model over one transcript store. It knows no override and no guest.

The level is what somebody wished, clamped to the model as Pi does it; the wish outlives a model that cannot fulfil it.
Invariant: a `thinking_level_change` is written when the effective level changes, and never by opening a session.
"""

import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from guest_api.levels import DEFAULT_LEVEL, Level, is_level
from runtime.events import LevelChanged
from runtime.models import Model, ModelCatalog, clamp_to_model
from runtime.thinking.replay import LEVEL_CHANGE, MODEL_CHANGE, UNSET_FIELD, positions
from runtime.transcript.entries import THINKING_ENTRY, Entry, spelled
from runtime.transcript.store import TranscriptStore


class DueEntries(Protocol):
    """Who may have an entry that must stand before the next one (the thinking controller)."""

    def take_due(self) -> tuple[str, Any] | None:
        """The custom entry that is due; taken means written."""

    def due_may_follow_a_level(self) -> bool:
        """Whether a kill behind a level change written before the due entry would do no harm."""

    def give_back(self) -> None:
        """It could not be written."""


class LocalHost:
    """A session of our own."""

    def __init__(
        self,
        store: TranscriptStore,
        *,
        catalog: ModelCatalog | None = None,
        model: Model | None = None,
        warn: Callable[[str], None] | None = None,
    ) -> None:
        """`model`: the active one, recorded with the next append; None: the one that the branch names, if known."""
        self.store = store
        self.on_level_changed: Callable[[LevelChanged], Awaitable[None]] | None = None
        """Told of each change before the setter returns, in order."""
        self.due: DueEntries | None = None
        """Asked before each append."""
        self._catalog = catalog or ModelCatalog()
        self._warn = warn or _to_standard_error
        self._recorded_model: str | None = None
        """Key of the model that reopening the file at `_leaf` would give, whether the catalog has it or not."""
        named = self._model_on_branch(warns=model is None)
        self._model = model or named
        self._wish: Level | None = _wish_on_branch(self.branch(), self._catalog)
        """What is wished now, by whomever; None: nobody chose."""
        self._persons_wish = self._wish
        """What was wished before any change of ours."""
        self._leaf = self.store.leaf_id
        self._recorded_wish = self._wish
        """The wish that reopening the file at `_leaf` would give."""
        store.subscribe(self._noted)

    # --- level and model

    @property
    def level(self) -> Level:
        """The effective level now.

        Seed: thinking:intro:host-clamps
        """
        return self._effective(self._wish)

    @property
    def level_is_set(self) -> bool:
        """False while nobody chose a level and the default applies."""
        return self._wish is not None

    @property
    def model(self) -> Model | None:
        """The active model."""
        return self._model

    async def set_level(self, level: Level | None, *, replayed: bool = False) -> Level:
        """Set the level as our own change; None: back to unset. Returns the effective level.

        Going back to what a person's wish amounts to takes up that wish itself, so that it survives a weaker model.
        """
        before, was_set = self.level, self.level_is_set
        if level is None:
            self._persons_wish = None
        restores = level is None or level == self._effective(self._persons_wish)
        self._wish = self._persons_wish if restores else level
        if not replayed:
            self._record(unset_again=was_set and not self.level_is_set)
        await self._tell(before, "fabric")
        return self.level

    async def set_level_by_person(self, level: Level) -> Level:
        """A person chose the level (`--level`, an embedder): the change is foreign to an override, which then ends.

        Seed: thinking:owner:foreign-ends
        """
        before = self.level
        self._wish = self._persons_wish = level
        self._level_on_branch()
        self._record(chosen=self._recorded_wish != level)
        await self._tell(before, "foreign", always=True)
        return self.level

    async def set_model(self, model: Model) -> None:
        """Switch the model; the wish stays and is clamped to it. Whoever calls this tells the thinking controller."""
        if model == self._model:
            return
        before = self.level
        self._before_append()
        self._write_model(model)
        self._model = model
        self._record()
        await self._tell(before, "model")

    # --- branch

    def branch(self) -> Sequence[Entry]:
        """The active branch, root first."""
        return self.store.branch()

    def append(self, entry_type: str, fields: dict[str, Any]) -> Entry:
        """Append an entry of any type, after what must stand before it."""
        self._before_append()
        return self.store.append(entry_type, fields)

    async def append_custom(self, custom_type: str, data: Any) -> Entry:
        """Append a custom entry; nothing is awaited, so it is never half done."""
        if self._is_override_in_force(custom_type, data):
            # Clamped anew, its level is in force and not on the branch: behind that level's line, a kill between the
            # two would leave a level that looks like somebody else's, and no revert.
            entry = self.store.append_custom(custom_type, data)
            self._before_append()
            return entry
        self._before_append()
        return self.store.append_custom(custom_type, data)

    async def append_custom_message(
        self, custom_type: str, content: str, *, display: bool, details: Any = None
    ) -> Entry:
        """Append a custom message, likewise."""
        self._before_append()
        return self.store.append_custom_message(custom_type, content, display=display, details=details)

    def append_message(self, message: dict[str, Any]) -> Entry:
        """Append a message of Pi's shape."""
        self._before_append()
        return self.store.append_message(message)

    def append_user_message(self, text: str) -> Entry:
        """Append a person's prompt as Pi writes it."""
        now_ms = time.time_ns() // 1_000_000
        return self.append_message({"role": "user", "content": [{"type": "text", "text": text}], "timestamp": now_ms})

    def warn(self, message: str) -> None:
        """Tell the person, on standard error unless the embedder chose otherwise."""
        self._warn(message)

    # --- inside

    def _effective(self, wish: Level | None) -> Level:
        return clamp_to_model(DEFAULT_LEVEL if wish is None else wish, self._model)

    async def _tell(self, previous: Level, cause: Any, *, always: bool = False) -> None:
        level = self.level
        if self.on_level_changed is not None and (always or level != previous):
            await self.on_level_changed(LevelChanged(level, previous, cause))

    def _record(self, *, chosen: bool = False, unset_again: bool = False) -> None:
        """Write the effective level where the branch would give another one.

        It stands before a model change that is due: right behind one it would read as that model's doing.
        A due entry stands before it, except where the branch says the same without that entry: then a kill between the
        two must not move the leaf to this branch without the level that is in force.
        """
        if self._level_on_branch() == self.level and not chosen and not unset_again:
            return
        fields: dict[str, Any] = {"thinkingLevel": self.level}
        if not self.level_is_set:
            fields[UNSET_FIELD] = True
        level_first = self.due is not None and self.due.due_may_follow_a_level() and not self._leaf_is_model_change()
        if not level_first:
            self._write_due()
        self.store.append(LEVEL_CHANGE, fields)
        self._write_model(self._model)
        if level_first:
            self._write_due()

    def _before_append(self) -> None:
        """Bring the branch up to what is in force: model, what the controller has due, level."""
        if self._level_on_branch() != self.level:
            self._record()
        self._write_model(self._model)
        self._write_due()

    def _is_override_in_force(self, custom_type: str, data: Any) -> bool:
        override = data.get("override") if custom_type == THINKING_ENTRY and isinstance(data, dict) else None
        return isinstance(override, dict) and override.get("level") == self.level != self._level_on_branch()

    def _leaf_is_model_change(self) -> bool:
        leaf = self.store.leaf_id
        return leaf is not None and self.store.entry(leaf).type == MODEL_CHANGE

    def _write_model(self, model: Model | None) -> None:
        if model is not None and model.key != self._recorded_model:
            self.store.append(MODEL_CHANGE, {"provider": model.provider, "modelId": model.id})

    def _write_due(self) -> None:
        due = self.due.take_due() if self.due is not None else None
        if due is None or self.due is None:
            return
        try:
            self.store.append_custom(*due)
        except BaseException:
            self.due.give_back()
            raise

    def _noted(self, entry: Entry) -> None:
        """Follow every append, also those that others make at the store."""
        if entry.parent_id != self._leaf:
            return
        self._leaf = entry.id
        if entry.type == MODEL_CHANGE:
            self._recorded_model = f"{spelled(entry.get('provider'))}/{spelled(entry.get('modelId'))}"
        elif entry.type == LEVEL_CHANGE and is_level(entry.thinking_level):
            self._recorded_wish = None if entry.get(UNSET_FIELD) is True else entry.thinking_level

    def _level_on_branch(self) -> Level:
        """What reopening would give; read again after the leaf was moved by others."""
        if self.store.leaf_id != self._leaf:
            self._leaf = self.store.leaf_id
            self._recorded_wish = _wish_on_branch(self.branch(), self._catalog)
            self._model_on_branch(warns=False)
        return self._effective(self._recorded_wish)

    def _model_on_branch(self, *, warns: bool) -> Model | None:
        change = self.store.latest(MODEL_CHANGE)
        if change is None:
            self._recorded_model = None
            return None
        provider, model_id = spelled(change.get("provider")), spelled(change.get("modelId"))
        self._recorded_model = f"{provider}/{model_id}"
        model = self._catalog.get(provider, model_id)
        if model is None and warns:
            self._warn(f"model {self._recorded_model} of this session is not configured; every level is listed")
        return model


def _wish_on_branch(branch: Sequence[Entry], catalog: ModelCatalog) -> Level | None:
    """The last wish on the branch; None: nobody chose.

    A level right behind a model change that the new model's clamp explains is no wish: the earlier one still stands.
    Any other level there is one (Pi goes to the level that it remembers for the model), and so is the first of all.
    Seed: thinking:owner:own-change-not-foreign
    """
    behind_models: list[tuple[Entry, Level]] = []
    wish: Level | None = None
    is_first = True
    for index in reversed(positions(branch, LEVEL_CHANGE)):
        entry = branch[index]
        if not is_level(entry.thinking_level):
            continue
        if index and branch[index - 1].type == MODEL_CHANGE:
            behind_models.append((branch[index - 1], entry.thinking_level))
            continue
        wish = None if entry.get(UNSET_FIELD) is True else entry.thinking_level
        is_first = False
        break
    for change, level in reversed(behind_models):
        model = catalog.get(spelled(change.get("provider")), spelled(change.get("modelId")))
        if is_first or model is None or model.clamp(wish or DEFAULT_LEVEL) != level:
            wish = level
        is_first = False
    return wish


def _to_standard_error(message: str) -> None:
    print(message, file=sys.stderr)
