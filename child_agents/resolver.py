"""The one place that decides what a child gets: level, bounds, risks, tools, depth, cost, environment; pure.

Every launch path asks here: run, spawn, durable spawn, nested spawn, whatever the runner. Invariant: nothing in a
`ResolvedRun` reaches beyond its caller, except what a person's own `agents.delegation` grants; a request for more
raises, and then nothing exists yet. Each value says where it came from.
Attacked by `tests/child_agents/test_resolver.py`.
"""

from collections.abc import Collection
from typing import Any, Literal

import msgspec

from child_agents import environment
from child_agents.caller import CallerContext
from child_agents.errors import LaunchRefusedError, RequestError
from child_agents.inherited_bounds import for_child
from child_agents.narrowing import RANK, ceiling, wider_tools
from child_agents.request import AgentRequest, Mode, Residency
from child_agents.settings import AgentSettings, Alias
from guest_api.bounds import Bounds, WiderBoundsError, clamp
from guest_api.levels import Level, closest_name
from host_bridge.descriptor import RISKS


class ResolvedRun(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Everything that is decided before a process exists; the worker and the resident host add nothing to it."""

    id: str
    name: str
    runner: str
    root_id: str
    depth: int
    path: tuple[str, ...]
    """Names from the first child down to this one."""
    parent_run: str
    residency: Residency = "session"
    recursive: bool = False
    task: str | None = None
    program: str | None = None
    input: Any = None
    model: str | None = None
    cwd: str = "."
    session: str | None = None
    schema: dict[str, Any] | None = None
    config_file: str | None = None
    thinking: Level | None = None
    requested_thinking: Level | None = None
    """The level before it was clamped; None where clamping changed nothing."""
    thinking_bounds: Bounds | None = None
    """None: unbounded, and the variable is not exported."""
    risks: dict[str, Mode] = {}
    rules: tuple[dict[str, Any], ...] = ()
    tools: tuple[str, ...] | None = None
    schema_mode: Literal["off", "audit", "enforce"] = "off"
    max_depth: int = 0
    max_turns: int = 1
    max_cost: float = 0.0
    timeout_ms: int = 0
    owner_session: str | None = None
    """The session that gets a follow-up message when nobody waited."""
    environment: dict[str, str] = {}
    """Whole, but for the bounds and the control channel, which the worker sets; never written to a record."""
    sources: dict[str, str] = {}
    """Where each decided value came from."""


def resolve(
    request: AgentRequest,
    caller: CallerContext,
    settings: AgentSettings,
    *,
    run_id: str,
    runners: Collection[str],
    program: str | None = None,
) -> ResolvedRun:
    """What the child of this request gets. `program` is the text behind `programFile`, read by the caller.

    Raises: RequestError: the request itself is wrong.
        LaunchRefusedError: it asks for more than there is, or a limit is reached; names both sides and the setting.
    Seed: thinking:child:wider-fails-before-launch, thinking:child:level-sources
    """
    if caller.schema_mode == "enforce":
        raise LaunchRefusedError(
            "schema mode is enforce: no agent is launched (setting schema.mode)", setting="schema.mode"
        )
    sources: dict[str, str] = {}
    runner = _runner(request, settings, runners, sources)
    source = request.program if program is None else program
    _need_work(request, runner, source)
    alias_name, alias = _alias(request, settings)
    depth, max_depth = _depth(request, caller, settings, sources)
    bounds = _bounds(request, caller, sources)
    level, requested = _level(request, alias_name, alias, settings, bounds=bounds, sources=sources)
    name = request.name or f"{runner}-{run_id[-6:]}"
    path = (*caller.path, name)
    parent_run = caller.run_id or caller.root_id
    return ResolvedRun(
        id=run_id,
        name=name,
        runner=runner,
        root_id=caller.root_id,
        depth=depth,
        path=path,
        parent_run=parent_run,
        residency=request.residency,
        recursive=request.recursive,
        task=request.task,
        program=source,
        input=request.input,
        model=_model(request, alias_name, alias, caller, sources),
        cwd=str(caller.cwd / request.cwd) if request.cwd else str(caller.cwd),
        session=request.session,
        schema=request.schema,
        config_file=None if caller.config_file is None else str(caller.config_file),
        thinking=level,
        requested_thinking=requested,
        thinking_bounds=None if bounds.is_open else bounds,
        risks=_risks(request, caller, settings, sources),
        rules=tuple(dict(rule) for rule in caller.rules),
        tools=_tools(request, caller, sources),
        schema_mode=caller.schema_mode,
        max_depth=max_depth,
        max_turns=_turns(request, caller, settings, sources),
        max_cost=_cost(request, caller, settings, sources),
        timeout_ms=_timeout(request, settings, sources),
        owner_session=caller.session_id,
        environment=environment.clean(caller.environment, runner, settings.environment)
        | _identity(depth, name, parent_run),
        sources=sources,
    )


def enforce(run: ResolvedRun) -> ResolvedRun:
    """The same run as a host must start it that did not resolve it: whatever was sent, its own bounds hold.

    Raises: LaunchRefusedError: the request contradicts itself (deeper than its own maximum).
    Seed: thinking:child:resident-enforces
    """
    if run.depth > run.max_depth:
        raise LaunchRefusedError(
            f"depth {run.depth} is deeper than {run.max_depth} (setting agents.maxDepth)", setting="agents.maxDepth"
        )
    if run.schema_mode == "enforce":
        raise LaunchRefusedError("schema mode is enforce: no agent is launched", setting="schema.mode")
    own = {name: value for name, value in run.environment.items() if name not in environment.OWN_VARIABLES}
    own |= _identity(run.depth, run.name, run.parent_run)
    level, requested = run.thinking, run.requested_thinking
    if level is not None and run.thinking_bounds is not None and level not in run.thinking_bounds:
        level, requested = clamp(level, run.thinking_bounds), requested or level
    return msgspec.structs.replace(run, thinking=level, requested_thinking=requested, environment=own)


def _runner(request: AgentRequest, settings: AgentSettings, runners: Collection[str], sources: dict[str, str]) -> str:
    sources["runner"] = "request" if request.runner else "agents.runner"
    runner = request.runner or settings.runner
    if runner not in runners:
        near = closest_name(runner, runners)
        raise RequestError(
            f"runner: got {runner!r:.80}, wanted one of {', '.join(sorted(runners))}"
            + (f"; did you mean {near!r}?" * bool(near))
        )
    return runner


def _need_work(request: AgentRequest, runner: str, program: str | None) -> None:
    if request.program is not None and request.program_file is not None:
        raise RequestError("program and programFile: both given, wanted one of them")
    if runner == "program":
        if program is None:
            raise RequestError("program: got nothing, wanted the source text of the child's program (or programFile)")
    elif request.task is None:
        raise RequestError(f"task: got nothing, wanted what the {runner} runner shall do")


def _alias(request: AgentRequest, settings: AgentSettings) -> tuple[str | None, Alias | None]:
    if request.alias is not None:
        alias = settings.aliases.get(request.alias)
        if alias is None:
            near = closest_name(request.alias, settings.aliases)
            names = ", ".join(sorted(settings.aliases)) or "none is configured (setting agents.aliases)"
            raise RequestError(
                f"alias: got {request.alias!r:.80}, wanted one of {names}" + (f"; did you mean {near!r}?" * bool(near))
            )
        return request.alias, alias
    if request.model is not None and request.model in settings.aliases:
        return request.model, settings.aliases[request.model]
    return None, None


def _depth(
    request: AgentRequest, caller: CallerContext, settings: AgentSettings, sources: dict[str, str]
) -> tuple[int, int]:
    depth = caller.depth + 1
    limit, source = settings.max_depth, "agents.maxDepth"
    if caller.max_depth is not None and caller.max_depth < limit:
        limit, source = caller.max_depth, "caller"
    if not caller.may_launch:
        raise LaunchRefusedError(
            f"{'/'.join(caller.path)} was not started with recursive=True, so it starts no agents",
            setting="recursive",
            requested=depth,
            effective=caller.depth,
        )
    if depth > limit:
        raise LaunchRefusedError(
            f"a child here would be at depth {depth}; the deepest allowed is {limit} (setting agents.maxDepth)",
            setting="agents.maxDepth",
            requested=depth,
            effective=limit,
        )
    if request.max_depth is None:
        sources["maxDepth"] = source
        return depth, limit
    if depth + request.max_depth > limit:
        raise LaunchRefusedError(
            f"maxDepth {request.max_depth} below depth {depth} reaches depth {depth + request.max_depth}; "
            f"the deepest allowed is {limit} (setting agents.maxDepth)",
            setting="agents.maxDepth",
            requested=depth + request.max_depth,
            effective=limit,
        )
    sources["maxDepth"] = "request"
    return depth, depth + request.max_depth


def _bounds(request: AgentRequest, caller: CallerContext, sources: dict[str, str]) -> Bounds:
    try:
        bounds = for_child(caller.bounds, request.thinking_bounds)
    except WiderBoundsError as error:
        raise LaunchRefusedError(
            f"{error} (setting thinking.bounds)",
            setting="thinking.bounds",
            requested=error.requested.to_dict(),
            effective=error.effective.to_dict(),
        ) from None
    asked = request.thinking_bounds is not None and not request.thinking_bounds.is_open
    sources["thinkingBounds"] = "none" if bounds.is_open else "request" if asked else "caller"
    return bounds


def _level(
    request: AgentRequest,
    alias_name: str | None,
    alias: Alias | None,
    settings: AgentSettings,
    *,
    bounds: Bounds,
    sources: dict[str, str],
) -> tuple[Level | None, Level | None]:
    """The level in the child's bounds, and the one before clamping where it differs.

    Seed: thinking:child:level-clamped, thinking:child:requested-absent, thinking:bounds:caps-child-runs
    """
    if request.thinking is not None:
        wanted, source = request.thinking, "request"
    elif alias is not None and alias.thinking is not None:
        wanted, source = alias.thinking, f"agents.aliases.{alias_name}"
    elif settings.thinking is not None:
        wanted, source = settings.thinking, "agents.thinking"
    else:
        sources["thinking"] = "none"
        return None, None
    level = clamp(wanted, bounds)
    sources["thinking"] = source if level == wanted else f"{source}, clamped into thinkingBounds"
    return level, None if level == wanted else wanted


def _model(
    request: AgentRequest,
    alias_name: str | None,
    alias: Alias | None,
    caller: CallerContext,
    sources: dict[str, str],
) -> str | None:
    if request.model is not None and request.model != alias_name:
        sources["model"] = "request"
        return request.model
    if alias is not None and alias.model is not None:
        sources["model"] = f"agents.aliases.{alias_name}"
        return alias.model
    sources["model"] = "none" if caller.model is None else "caller"
    return caller.model


def _risks(
    request: AgentRequest, caller: CallerContext, settings: AgentSettings, sources: dict[str, str]
) -> dict[str, Mode]:
    most = ceiling(caller.risks, settings.delegation)
    asked = request.risks or {}
    modes: dict[str, Mode] = {}
    for risk in RISKS:
        own = caller.risks.get(risk, "deny")
        wanted = asked.get(risk)
        if wanted is not None and RANK[wanted] > RANK[most[risk]]:
            raise LaunchRefusedError(
                f"risks.{risk}: the child asks for {wanted!r}, its caller has {own!r} "
                f"(setting approvals.{risk}, or agents.delegation to grant children more than their caller)",
                setting=f"approvals.{risk}",
                requested=wanted,
                effective=own,
            )
        # Unasked, a child gets what its caller has: a delegation counts only where the request names it.
        modes[risk] = own if wanted is None else wanted
        delegated = RANK[modes[risk]] > RANK[own]
        sources[f"risks.{risk}"] = "agents.delegation" if delegated else "caller" if wanted is None else "request"
    return modes


def _tools(request: AgentRequest, caller: CallerContext, sources: dict[str, str]) -> tuple[str, ...] | None:
    if request.tools is None:
        sources["tools"] = "none" if caller.tools is None else "caller"
        return caller.tools
    wider = wider_tools(request.tools, caller.tools)
    if wider:
        raise LaunchRefusedError(
            f"tools: the child asks for {', '.join(wider)}; its caller has {', '.join(caller.tools or ()) or 'none'}",
            setting="tools",
            requested=list(request.tools),
            effective=list(caller.tools or ()),
        )
    sources["tools"] = "request"
    return request.tools


def _turns(request: AgentRequest, caller: CallerContext, settings: AgentSettings, sources: dict[str, str]) -> int:
    limit = int(_capped("maxTurns", request.max_turns, caller.max_turns, settings.max_turns, sources))
    return max(limit, 1)


def _cost(request: AgentRequest, caller: CallerContext, settings: AgentSettings, sources: dict[str, str]) -> float:
    return float(_capped("maxCost", request.max_cost, caller.max_cost, settings.max_cost, sources))


def _capped(key: str, asked: float | None, having: float | None, configured: float, sources: dict[str, str]) -> float:
    limit, source = configured, f"agents.{key}"
    if having is not None and having < limit:
        limit, source = having, "caller"
    if asked is None:
        sources[key] = source
        return limit
    if asked > limit:
        raise LaunchRefusedError(
            f"{key}: the child asks for {asked:g}, its caller has {limit:g} (setting agents.{key})",
            setting=f"agents.{key}",
            requested=asked,
            effective=limit,
        )
    sources[key] = "request"
    return asked


def _timeout(request: AgentRequest, settings: AgentSettings, sources: dict[str, str]) -> int:
    sources["timeoutMs"] = "agents.timeoutMs" if request.timeout_ms is None else "request"
    return settings.timeout_ms if request.timeout_ms is None else request.timeout_ms


def _identity(depth: int, name: str, parent_run: str) -> dict[str, str]:
    return {
        environment.DEPTH: str(depth),
        environment.AGENT_NAME: name,
        environment.PARENT_RUN: parent_run,
    }
