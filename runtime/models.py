"""Models as data: which levels each supports, Pi's clamp, and finding one by name. It talks to no provider."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from guest_api.levels import DEFAULT_LEVEL, LEVELS, Level, closest_name, nearest_supported

ENTRY_REQUIRED: Final[frozenset[Level]] = frozenset({"xhigh", "max"})
"""Levels that a reasoning model has only where its `thinkingLevelMap` names them; the others are there by default."""


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


class UnknownModelError(ValueError):
    """No such model, or a bare id that several providers have; the message names what would do."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"model {name!r}: {reason}")
        self.name = name


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One model of one provider, in the fields that matter here."""

    provider: str
    id: str
    reasoning: bool = False
    """False: the model only knows `off`."""
    thinking_level_map: Mapping[str, str | None] = field(default_factory=_nothing, hash=False)
    """Level to the provider's own word; null removes the level."""
    settings: Mapping[str, Any] = field(default_factory=_nothing, hash=False, compare=False, repr=False)
    """The model's whole object as configured, for whoever calls the provider."""

    @property
    def key(self) -> str:
        """The unambiguous name: `local/r1`."""
        return f"{self.provider}/{self.id}"

    @property
    def supported_levels(self) -> tuple[Level, ...]:
        """What the model can do, lowest first.

        Seed: thinking:status:available
        """
        return supported_levels(reasoning=self.reasoning, level_map=self.thinking_level_map)

    def clamp(self, level: Level) -> Level:
        """What the model makes of a level."""
        return clamp_to_model(level, self)


def supported_levels(*, reasoning: bool, level_map: Mapping[str, str | None] | None) -> tuple[Level, ...]:
    """The levels of a model with these two fields, lowest first; empty when the map removes them all."""
    if not reasoning:
        return ("off",)
    entries = level_map or {}
    return tuple(
        level for level in LEVELS if (entries[level] is not None if level in entries else level not in ENTRY_REQUIRED)
    )


def clamp_to_model(level: Level, model: Model | None) -> Level:
    """Pi's clamp: the level itself, else the next higher the model supports, else the next lower, else `off`.

    Without a model the level stays as it is.
    Seed: thinking:intro:host-clamps
    """
    if model is None:
        return level
    return nearest_supported(level, model.supported_levels) or "off"


def default_level(model: Model | None) -> Level:
    """What runs while nobody chose a level."""
    return clamp_to_model(DEFAULT_LEVEL, model)


class ModelCatalog:
    """All models that the configuration names."""

    def __init__(self, models: Iterable[Model] = ()) -> None:
        self._by_key = {model.key: model for model in models}

    def __iter__(self) -> Iterator[Model]:
        return iter(self._by_key.values())

    def __len__(self) -> int:
        return len(self._by_key)

    def get(self, provider: str, model_id: str) -> Model | None:
        """The model that a session file names; None: this configuration does not know it."""
        return self._by_key.get(f"{provider}/{model_id}")

    def find(self, name: str) -> Model:
        """The model behind `provider/id` or a bare id.

        Raises: UnknownModelError: none has this name, or several providers have this id.
        """
        if name in self._by_key:
            return self._by_key[name]
        named = [model for model in self._by_key.values() if model.id == name]
        if len(named) == 1:
            return named[0]
        if named:
            raise UnknownModelError(name, f"several providers have it; wanted one of {', '.join(m.key for m in named)}")
        if not self._by_key:
            raise UnknownModelError(name, "no model is configured; add it under models.providers")
        names = {*self._by_key, *(model.id for model in self._by_key.values())}
        near = closest_name(name, sorted(names))
        known = f"wanted one of {', '.join(sorted(self._by_key)[:20])}"
        raise UnknownModelError(name, f"not configured; {known}" + (f"; did you mean {near!r}?" if near else ""))


def catalog_from_providers(providers: Mapping[str, Mapping[str, Any]]) -> ModelCatalog:
    """The catalog of `models.providers`, whose shape the configuration has checked."""
    return ModelCatalog(
        Model(
            provider=provider,
            id=entry["id"],
            reasoning=bool(entry.get("reasoning", False)),
            thinking_level_map=MappingProxyType(dict(entry.get("thinkingLevelMap") or {})),
            settings=MappingProxyType(dict(entry)),
        )
        for provider, settings in providers.items()
        for entry in settings.get("models", ())
    )
