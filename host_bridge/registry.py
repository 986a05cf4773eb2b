"""Which actions exist: refs to actions, by source, with a catalog and its hashes; it knows no policy and calls nothing.

Invariant: one ref has one owner, and the roots of the host itself (`thinking`, `agents` …) belong to the source of
that name, so that no plug-in or server can stand in for them. Attacked by `tests/host_bridge/test_registry.py`.
"""

import difflib
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

import msgspec

from host_bridge.descriptor import RISKS, Action, Descriptor, Risk
from host_bridge.errors import HandlerError, InvalidRefError, RefTakenError

HOST_ROOTS: Final = frozenset({"thinking", "agents", "tools", "pi", "schema"})
"""`thinking.*` may only come from the source named `thinking`, and so on."""
REF_LIMIT_CHARACTERS: Final = 256
CALL_BY_REF: Final = "tools.call"
"""Not an action: admission unwraps it, so that the called ref itself is judged and recorded."""

Resolver: TypeAlias = Callable[[str], Awaitable[Action | None]]
"""Asked for a ref under one of its source's roots that no registered action has; may start a server."""
Foresight: TypeAlias = Callable[[str], tuple[Risk, ...]]
"""The classes that an action behind a ref that is not registered yet could have, the likeliest first; empty: any."""


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """One action as listed."""

    descriptor: Descriptor
    source: str
    hash: str
    """SHA-256 of the descriptor's canonical JSON: equal hashes mean equal meaning, across processes."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """Every registered action, by ref."""

    entries: tuple[CatalogEntry, ...]
    hash: str
    """Changes exactly when an entry does."""


@dataclass(frozen=True, slots=True)
class _Source:
    actions: Mapping[str, Action]
    roots: frozenset[str]
    resolver: Resolver | None
    foresight: Foresight | None = None


class UnknownActionError(HandlerError):
    """No action has this ref; `suggestions` are the closest that do."""

    def __init__(self, ref: str, suggestions: tuple[str, ...]) -> None:
        self.ref = ref
        self.suggestions = suggestions
        hint = f"; did you mean {', '.join(suggestions)}?" if suggestions else "; tools.list() names what exists"
        super().__init__(f"unknown action {ref!r:.300}{hint}", "rejected", {"suggestions": list(suggestions)})


class NotGivenError(UnknownActionError):
    """The ref is not among the tools that this host was given by its parent."""

    def __init__(self, ref: str) -> None:
        super().__init__(ref, ())
        self.message = f"{ref!r:.300} is not among the tools that this agent was given"
        self.kind = "denied"


def _everything(ref: str) -> bool:
    """A host that nobody limited."""
    del ref
    return True


class Registry:
    """The actions of one host. Sources are replaced whole and independently of each other."""

    def __init__(self, *, may_use: Callable[[str], bool] = _everything) -> None:
        """`may_use`: what a parent gave this host; every other ref is refused, and listed nowhere."""
        self._may_use = may_use
        self._sources: dict[str, _Source] = {}
        self._actions: dict[str, Action] = {}
        self._listeners: list[Callable[[str], None]] = []
        self._catalog: Catalog | None = None
        self._entries: dict[str, tuple[CatalogEntry, ...]] = {}
        """By source, hashed at the first question after a change: a change costs its own source only."""

    def replace_source(
        self,
        name: str,
        actions: Iterable[Action],
        *,
        roots: Iterable[str] = (),
        resolver: Resolver | None = None,
        foresight: Foresight | None = None,
    ) -> None:
        """Let `actions` be all that the source `name` offers. `roots` are root names it owns even while empty;
        `resolver` is asked for refs under its roots that are not registered, and `foresight` what it could find.

        Raises: InvalidRefError, RefTakenError: nothing was changed.
        """
        added: dict[str, Action] = {}
        taken = {ref: source for source, held in self._sources.items() if source != name for ref in held.actions}
        for action in actions:
            ref = check_ref(action.descriptor.ref)
            if action.descriptor.risk not in RISKS:
                raise InvalidRefError(ref, f"risk {action.descriptor.risk!r} is none of {', '.join(RISKS)}")
            root = ref.partition(".")[0]
            if ref == CALL_BY_REF or (root in HOST_ROOTS and name != root):
                raise RefTakenError(ref, name, root)
            if ref in added or ref in taken:
                raise RefTakenError(ref, name, taken.get(ref, name))
            added[ref] = action
        all_roots = frozenset(roots) | {ref.partition(".")[0] for ref in added}
        if stolen := sorted(root for root in all_roots if root in HOST_ROOTS and root != name):
            raise RefTakenError(stolen[0], name, stolen[0])
        self._sources[name] = _Source(
            {ref: action for ref, action in added.items() if self._may_use(ref)}, all_roots, resolver, foresight
        )
        self._changed(name)

    def remove_source(self, name: str) -> None:
        """Forget a source; unknown names are ignored."""
        if self._sources.pop(name, None) is not None:
            self._changed(name)

    def subscribe(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Call `listener(source)` after each change; returns what ends the subscription."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return unsubscribe

    def lookup(self, ref: str) -> Action | None:
        """The registered action of exactly this ref."""
        return self._actions.get(ref)

    def may_resolve(self, ref: str) -> bool:
        """Whether some source would have to be asked (`resolve`) before this ref is called unknown."""
        return self._may_use(ref) and bool(self._resolvers(ref))

    def possible_risks(self, ref: str) -> tuple[Risk, ...]:
        """Every class that `resolve` could find this ref to have, the likeliest first; empty: it may be any."""
        sources = [held for held in self._sources.values() if held.resolver is not None and self._owns(held, ref)]
        foreseen = [held.foresight(ref) if held.foresight is not None else () for held in sources]
        return tuple(dict.fromkeys(risk for risks in foreseen for risk in risks)) if all(foreseen) else ()

    async def resolve(self, ref: str) -> Action:
        """The action of this ref, asking lazily started sources.

        Raises: UnknownActionError: nobody has it; HandlerError: the source that has it could not be started.
        """
        action = self._actions.get(ref)
        if action is not None:
            return action
        if not self._may_use(ref):
            raise NotGivenError(ref)
        for resolver in self._resolvers(ref):
            found = await resolver(ref)
            if found is not None and found.descriptor.ref == ref:
                return found
        if (action := self._actions.get(ref)) is not None:
            return action
        raise self.unknown(ref)

    def unknown(self, ref: str) -> UnknownActionError:
        """The error for a ref that nobody has, with the closest refs that exist."""
        if not self._may_use(ref):
            return NotGivenError(ref)
        return UnknownActionError(ref, self.suggest(ref))

    def suggest(self, ref: str) -> tuple[str, ...]:
        """At most three registered refs that a typing error may have meant."""
        found = difflib.get_close_matches(ref[:REF_LIMIT_CHARACTERS], self._actions, n=3, cutoff=0.6)
        if not found:
            last = ref[:REF_LIMIT_CHARACTERS].rpartition(".")[2]
            found = sorted(known for known in self._actions if last and known.rpartition(".")[2] == last)[:3]
        return tuple(found)

    def namespaces(self) -> list[str]:
        """The root names that programs see as proxies, sorted."""
        return sorted({root for source in self._sources.values() for root in source.roots})

    def source_names(self) -> list[str]:
        """The sources, sorted."""
        return sorted(self._sources)

    def actions_of(self, source: str) -> tuple[Action, ...]:
        """What one source offers now; empty for an unknown one."""
        held = self._sources.get(source)
        return tuple(held.actions.values()) if held is not None else ()

    def entries_of(self, source: str) -> tuple[CatalogEntry, ...]:
        """One source's part of the catalog, sorted by ref."""
        if source not in self._entries and source in self._sources:
            self._entries[source] = tuple(
                sorted(
                    (
                        CatalogEntry(action.descriptor, source, descriptor_hash(action.descriptor))
                        for action in self._sources[source].actions.values()
                    ),
                    key=_by_ref,
                )
            )
        return self._entries.get(source, ())

    def catalog(self) -> Catalog:
        """Every registered action with its hash, sorted by ref; computed once per change."""
        if self._catalog is None:
            entries = sorted((entry for name in self._sources for entry in self.entries_of(name)), key=_by_ref)
            digest = hashlib.sha256()
            for entry in entries:
                digest.update(f"{entry.descriptor.ref}\n{entry.hash}\n".encode())
            self._catalog = Catalog(tuple(entries), digest.hexdigest())
        return self._catalog

    def _resolvers(self, ref: str) -> list[Resolver]:
        return [s.resolver for s in self._sources.values() if s.resolver is not None and self._owns(s, ref)]

    @staticmethod
    def _owns(source: _Source, ref: str) -> bool:
        return ref.partition(".")[0] in source.roots

    def _changed(self, name: str) -> None:
        self._actions = {ref: action for source in self._sources.values() for ref, action in source.actions.items()}
        self._catalog = None
        self._entries.pop(name, None)
        for listener in tuple(self._listeners):
            listener(name)


def _by_ref(entry: CatalogEntry) -> str:
    return entry.descriptor.ref


def check_ref(ref: str) -> str:
    """The ref, if a program can call it.

    Raises: InvalidRefError: says what is wrong with it.
    """
    parts = ref.split(".")
    if len(parts) < 2:
        raise InvalidRefError(ref, "needs a namespace and a name, as in `text.shorten`")
    if not all(parts):
        raise InvalidRefError(ref, "has an empty part")
    if len(ref) > REF_LIMIT_CHARACTERS:
        raise InvalidRefError(ref[:40] + "…", f"is longer than {REF_LIMIT_CHARACTERS} characters")
    if not ref.isprintable() or any(character.isspace() for character in ref):
        raise InvalidRefError(ref, "holds white space or control characters")
    if not parts[0].isidentifier() or parts[0].startswith("_"):
        raise InvalidRefError(ref, f"its namespace {parts[0]!r} is no Python name")
    return ref


def descriptor_hash(descriptor: Descriptor) -> str:
    """SHA-256 of the descriptor's canonical JSON (sorted keys)."""
    return hashlib.sha256(msgspec.json.encode(_plain(asdict(descriptor)), order="sorted")).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return value
