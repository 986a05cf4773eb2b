"""What the advisor lived through on a branch, prompt by prompt, transients included. It draws nothing.

A reload forgets heat on purpose; this walk brings it back for explaining and drawing. Where the branch holds hints,
they are what fired; where it holds none, the walk says what would have fired.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from runtime.advisor.advisor import AdvisorState, consider, end_turn, fired, tool_use
from runtime.advisor.ash import burned
from runtime.advisor.constants import fire_point
from runtime.advisor.echoes import with_echoes
from runtime.advisor.fingerprint import Fingerprint
from runtime.advisor.rendering import Register
from runtime.advisor.replay import (
    HINT_TYPE,
    RUN_TYPE,
    RefResolver,
    ToolResolver,
    called_namespaces,
    hinted_namespaces,
    message_text,
    traced_namespaces,
)
from runtime.advisor.settings import AdvisorySettings


@dataclass(slots=True)
class Turn:
    """One prompt of a branch and what followed it."""

    prompt: str
    before: AdvisorState
    """The state in which the prompt found the advisor."""
    heat: Mapping[str, float]
    """After the prompt, before anything fired."""
    fire_point: float
    scores: Mapping[str, float] = field(default_factory=dict)
    """The effective scores of the sources that fired."""
    fired: tuple[str, ...] = ()
    register: Register | None = None
    used: list[str] = field(default_factory=list)
    """Namespaces whose tools were called before the next prompt, once each."""


def walk(
    entries: Iterable[Any],
    index: Fingerprint,
    settings: AdvisorySettings,
    *,
    namespaces_of_tool: ToolResolver,
    exec_tool: str | None = None,
    namespace_of_ref: RefResolver = lambda _ref: None,
) -> tuple[list[Turn], AdvisorState]:
    """The prompts of a branch (root first) as they were lived, and the state after the last entry."""
    branch = [entry for entry in entries if isinstance(entry, Mapping)]
    recorded = any(_is_hint(entry) for entry in branch)
    state = AdvisorState()
    turns: list[Turn] = []
    for entry in branch:
        if _is_hint(entry):
            state = _said(state, entry, turns)
            continue
        message = entry.get("message")
        if entry.get("type") == "message" and isinstance(message, Mapping):
            if message.get("role") == "user":
                turn, state = _prompted(
                    state, index, settings, message_text(message.get("content")), fires=not recorded
                )
                turns.append(turn)
                continue
            if message.get("role") == "assistant":
                state = end_turn(_used(state, called_namespaces(message, namespaces_of_tool, exec_tool), turns))
        elif entry.get("type") == "custom" and entry.get("customType") == RUN_TYPE:
            state = end_turn(_used(state, traced_namespaces(entry.get("data"), namespace_of_ref), turns))
    return turns, state


def walk_prompts(
    prompts: Iterable[str], index: Fingerprint, settings: AdvisorySettings
) -> tuple[list[Turn], AdvisorState]:
    """The same for bare prompts, one turn each, without a tool call."""
    state = AdvisorState()
    turns = []
    for prompt in prompts:
        turn, state = _prompted(state, index, settings, prompt, fires=True)
        state = end_turn(state)
        turns.append(turn)
    return turns, state


def _is_hint(entry: Mapping[str, Any]) -> bool:
    return entry.get("type") == "custom_message" and entry.get("customType") == HINT_TYPE


def _prompted(
    state: AdvisorState, index: Fingerprint, settings: AdvisorySettings, prompt: str, *, fires: bool
) -> tuple[Turn, AdvisorState]:
    """One prompt; a proposed hint fires at once if `fires`."""
    decision = consider(state, index, prompt, settings)
    turn = Turn(prompt, state, decision.state.heat, fire_point(settings.threshold, state.smoke.streak))
    after = decision.state
    if decision.hint is not None:
        turn.scores = {match.namespace: match.score for match in decision.hint.matches}
        if fires:
            turn.fired, turn.register = decision.hint.namespaces, decision.hint.register
            after = fired(after, decision.hint, "")
    return turn, after


def _said(state: AdvisorState, entry: Mapping[str, Any], turns: Sequence[Turn]) -> AdvisorState:
    """A recorded hint: it burned what it names, whatever the catalog of today would say."""
    named = tuple(hinted_namespaces(entry.get("details")))
    content = message_text(entry.get("content"))
    if turns:
        turns[-1].fired = named
        turns[-1].register = "matched" if " matched your prompt." in content else "might match"
    return replace(
        state,
        ash=burned(state.ash, named, "fired", ""),
        echoes=with_echoes(state.echoes, content),
        spent_hints=state.spent_hints + 1,
        heat={namespace: value for namespace, value in state.heat.items() if namespace not in named},
        smoke=state.smoke.fired(named),
    )


def _used(state: AdvisorState, namespaces: Iterable[str], turns: Sequence[Turn]) -> AdvisorState:
    for namespace in namespaces:
        state = tool_use(state, namespace, "")
        if turns and namespace not in turns[-1].used:
            turns[-1].used.append(namespace)
    return state
