"""`extensions.*`: Python functions of an embedder or an installed plug-in as actions; it runs none and allows none.

    @tool(risk="read")
    def word_count(text: str) -> int:
        "Count the words of a text."
        return len(text.split())

A program calls it as `extensions.word_count(text=...)`. The annotations are the schema, the docstring the description.
A plug-in names its functions, or a module that holds them, in the entry point group `pi_fabric.extensions`.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from types import ModuleType
from typing import Any, Final, overload

from host_bridge.actions import action
from host_bridge.descriptor import RISKS, Action, Effect, Risk
from host_bridge.errors import InvalidRefError

ROOT: Final = "extensions"
ENTRY_POINT_GROUP: Final = "pi_fabric.extensions"
_NAME: Final = re.compile(r"^[A-Za-z][A-Za-z0-9_]*$")

_Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class ToolFunction:
    """A function with what the registry must know of it; it can still be called as the plain function."""

    function: _Function
    risk: Risk
    name: str
    description: str | None = None
    effect: Effect | None = None
    timeout_seconds: float | None = None
    extension: str | None = None
    """The advisor's source becomes `extension:<this>`; None: the plug-in's name, or the tool's own."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the plain function."""
        return self.function(*args, **kwargs)

    def as_action(self, extension: str | None = None) -> Action:
        """The action `extensions.<name>`.

        Raises: InvalidRefError: the name cannot be called. TypeError: a parameter cannot come from JSON.
        """
        ref = f"{ROOT}.{self.name}"
        if not _NAME.match(self.name):
            raise InvalidRefError(ref, "a tool's name is a Python name that does not begin with an underscore")
        if self.risk not in RISKS:
            raise InvalidRefError(ref, f"risk {self.risk!r} is none of {', '.join(RISKS)}")
        is_async = inspect.iscoroutinefunction(inspect.unwrap(self.function))
        made = action(
            self.function,
            ref=ref,
            risk=self.risk,
            description=self.description,
            effect=self.effect,
            # A plain function may block; in a thread it holds up nothing, and a cancelled call leaves it behind.
            in_thread=not is_async,
            timeout_seconds=self.timeout_seconds,
            namespace=f"extension:{self.extension or extension or self.name}",
        )
        if made.parameters is not None and made.descriptor.input_schema is None:
            raise TypeError(f"{ref}: a parameter is annotated with a type that JSON cannot give")
        return made


@overload
def tool(function: _Function, /) -> ToolFunction: ...


@overload
def tool(
    *,
    risk: Risk = ...,
    name: str | None = ...,
    description: str | None = ...,
    effect: Effect | None = ...,
    timeout_seconds: float | None = ...,
    extension: str | None = ...,
) -> Callable[[_Function], ToolFunction]: ...


def tool(
    function: _Function | None = None,
    /,
    *,
    risk: Risk = "execute",
    name: str | None = None,
    description: str | None = None,
    effect: Effect | None = None,
    timeout_seconds: float | None = None,
    extension: str | None = None,
) -> ToolFunction | Callable[[_Function], ToolFunction]:
    """Mark a function, sync or async (trio), as a tool for programs.

    Without a `risk` it is `execute`: code that says nothing of itself may do anything. `effect` says what it changes;
    without one a `read` may be called ahead of time. `timeout_seconds` ends a call with a `limit`.
    """

    def mark(marked: _Function) -> ToolFunction:
        return ToolFunction(marked, risk, name or marked.__name__, description, effect, timeout_seconds, extension)

    return mark if function is None else mark(function)


def extension_actions(
    tools: Iterable[ToolFunction | Action | ModuleType], *, extension: str | None = None
) -> list[Action]:
    """The actions of some tools; a module stands for every tool that it holds.

    Raises: InvalidRefError, TypeError: names the tool.
    """
    actions: list[Action] = []
    for entry in tools:
        if isinstance(entry, Action):
            actions.append(entry)
        elif isinstance(entry, ModuleType):
            found = [value for value in vars(entry).values() if isinstance(value, ToolFunction)]
            actions += extension_actions(found, extension=extension or entry.__name__.rpartition(".")[2])
        else:
            actions.append(entry.as_action(extension))
    return actions


def installed_extensions(
    warn: Callable[[str], None], *, entry_points: Sequence[metadata.EntryPoint] | None = None
) -> dict[str, list[Action]]:
    """The tools of every installed plug-in, by entry point name; a plug-in that cannot be loaded is named in a warning.

    A loader may be a `ToolFunction`, a module, a list of either, or a function without arguments that returns one.
    """
    found: dict[str, list[Action]] = {}
    points = metadata.entry_points(group=ENTRY_POINT_GROUP) if entry_points is None else entry_points
    for point in sorted(points, key=lambda one: one.name):
        try:
            found[point.name] = _namespaced(extension_actions(_loaded(point.load()), extension=point.name), point.name)
        except Exception as error:
            # One broken plug-in must not take the others, or the host, with it.
            warn(f"extension {point.name} ({point.value}) is left out: {type(error).__name__}: {error}")
    return found


def _loaded(value: Any) -> list[Any]:
    if isinstance(value, ToolFunction | ModuleType | Action):
        return [value]
    if callable(value):
        return _loaded(value())
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, Iterable):
        return list(value)
    raise TypeError(f"{type(value).__name__} is neither a tool, a module of tools, nor a list of them")


def _namespaced(actions: Iterable[Action], name: str) -> list[Action]:
    """Ready-made actions join their plug-in's namespace, and may only be called below `extensions`."""
    out = []
    for one in actions:
        if not one.descriptor.ref.startswith(f"{ROOT}."):
            raise InvalidRefError(one.descriptor.ref, f"a plug-in's refs begin with `{ROOT}.`")
        namespace = one.descriptor.namespace or f"extension:{name}"
        out.append(replace(one, descriptor=replace(one.descriptor, namespace=namespace)))
    return out
