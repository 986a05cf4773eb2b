"""What an action is: its name, risk, effect and shape. It knows no registry and runs nothing."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

import msgspec

Risk: TypeAlias = Literal["read", "write", "execute", "network", "agent"]
RISKS: Final[tuple[Risk, ...]] = ("read", "write", "execute", "network", "agent")
"""In rising order of reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What a call changes outside the program."""

    kind: str
    """`control-plane`, `file`, `process`, `network` …"""
    resources: tuple[str, ...] = ()
    """What is touched, for people and for conflict checks: `session.thinkingLevel`."""
    ordering: Literal["any", "serial"] = "any"
    """`serial`: two such calls must not overlap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """One action as programs, policies and catalogs see it."""

    ref: str
    """`thinking.set`, `mcp.git.status`: the only name by which it is called."""
    risk: Risk
    description: str = ""
    effect: Effect | None = None
    """None: the action changes nothing."""
    input_schema: Mapping[str, Any] | None = None
    """JSON Schema of the arguments object; None: any object."""
    output_schema: Mapping[str, Any] | None = None
    namespace: str | None = None
    """The advisor's source (`mcp:git`, `extension:web`); None: never hinted at, never burned."""
    tool_name: str | None = None
    """The tool's own name inside its namespace, as catalogs print it."""
    speculation_eligible: bool = False
    """May be called ahead of time because it only reads."""


class CallContext(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a handler may know of the call it serves. A Struct because one is made for each call."""

    run_id: str
    call_id: int
    ref: str


WaitingHandler: TypeAlias = Callable[[Any, CallContext], Awaitable[Any]]
"""An async handler: gets the decoded arguments and runs in a task of its own."""
ImmediateHandler: TypeAlias = Callable[[Any, CallContext], Any]
"""A plain handler that finishes at once: answered inline, without a task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """A descriptor and what serves it.

    Handlers raise `host_bridge.errors.HandlerError` for failures meant for the program; anything else is mapped to
    a plain sentence. They never see undecoded arguments.
    """

    descriptor: Descriptor
    handler: WaitingHandler | ImmediateHandler
    waits: bool
    """True: `handler` is async."""
    parameters: type[msgspec.Struct] | None = None
    """Decodes the arguments into this Struct; None: the handler gets the plain dict."""
    timeout_seconds: float | None = None
    """The longest a call may take; None: the run's own deadline is the only one."""
    tags: frozenset[str] = field(default_factory=frozenset)
