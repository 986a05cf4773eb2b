"""The three actions `thinking.status`, `thinking.set` and `thinking.reset`: their descriptors, arguments and handlers.

They decide nothing: a checked request goes to the controller. A managed host does not register them at all.
"""

from collections.abc import Callable
from typing import Annotated, Any, Final

import msgspec

from guest_api.bounds import NoSupportedLevelError
from guest_api.levels import LEVELS, Level
from host_bridge.descriptor import Action, CallContext, Descriptor, Effect
from host_bridge.errors import HandlerError
from runtime.thinking.controller import HostUnresponsiveError, LevelOutsideBoundsError, ThinkingController
from runtime.thinking.entry import REASON_LIMIT_CHARACTERS, SCOPES, TURNS_MAX, TURNS_MIN, Scope
from runtime.thinking.override import SetRequest
from runtime.transcript.errors import TranscriptError

CONTROL_PLANE: Final = Effect(kind="control-plane", resources=("session.thinkingLevel",), ordering="serial")
"""What set and reset change; serial: two of them never overlap."""


class NoArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`status` and `reset` take nothing."""


class SetArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a program may say to `set`.

    Seed: thinking:action:set-args-closed, thinking:scope:turns-range, thinking:reason:256, thinking:set:unknown-level
    """

    level: Level
    scope: Scope = "turn"
    turns: Annotated[int, msgspec.Meta(ge=TURNS_MIN, le=TURNS_MAX)] | msgspec.UnsetType = msgspec.UNSET
    """Agent runs, the current one included; with scope `turns` only, and needed there."""
    reason: Annotated[str, msgspec.Meta(max_length=REASON_LIMIT_CHARACTERS)] | msgspec.UnsetType = msgspec.UNSET
    """Shown in the status; counted in Unicode code points."""

    def __post_init__(self) -> None:
        """Check what ties `turns` to `scope`.

        Seed: thinking:scope:turns-requires-turns, thinking:scope:turns-elsewhere-rejected
        """
        if self.scope == "turns" and self.turns is msgspec.UNSET:
            raise ValueError(
                f"turns: got nothing with scope 'turns', wanted a whole number from {TURNS_MIN} to {TURNS_MAX}"
            )
        if self.scope != "turns" and self.turns is not msgspec.UNSET:
            raise ValueError(
                f"turns: got {self.turns} with scope {self.scope!r}, wanted no turns; turns needs scope 'turns'"
            )


def actions(controller: ThinkingController) -> list[Action]:
    """What a host that is not managed registers.

    Seed: thinking:action:status-risk, thinking:action:set-risk, thinking:action:reset-risk,
        thinking:action:status-speculation, thinking:control:control-plane-writes
    """

    def status(arguments: NoArguments, context: CallContext) -> dict[str, Any]:  # noqa: ARG001
        return controller.status()

    async def set_level(arguments: SetArguments, context: CallContext) -> dict[str, Any]:  # noqa: ARG001
        request = SetRequest(
            level=arguments.level,
            scope=arguments.scope,
            turns=None if arguments.turns is msgspec.UNSET else arguments.turns,
            reason=None if arguments.reason is msgspec.UNSET else arguments.reason,
        )
        return await _named_failures("set", lambda: controller.set(request))

    async def reset(arguments: NoArguments, context: CallContext) -> dict[str, Any]:  # noqa: ARG001
        return await _named_failures("reset", controller.reset)

    return [
        Action(
            descriptor=Descriptor(
                ref="thinking.status",
                risk="read",
                description="The session's thinking level, the levels available, the bounds, and the override if any.",
                effect=None,
                input_schema=_NOTHING,
                output_schema=STATUS_SCHEMA,
                tool_name="status",
                speculation_eligible=True,
            ),
            handler=status,
            waits=False,
            parameters=NoArguments,
        ),
        Action(
            descriptor=Descriptor(
                ref="thinking.set",
                risk="write",
                description=(
                    "Set the session's thinking level for the rest of this agent run (scope turn), for some runs "
                    "(turns) or until reset (session). It is clamped into the bounds and to the model."
                ),
                effect=CONTROL_PLANE,
                input_schema=_SET_SCHEMA,
                output_schema=SET_RESULT_SCHEMA,
                tool_name="set",
            ),
            handler=set_level,
            waits=True,
            parameters=SetArguments,
        ),
        Action(
            descriptor=Descriptor(
                ref="thinking.reset",
                risk="write",
                description="Go back to the level that was active before the override.",
                effect=CONTROL_PLANE,
                input_schema=_NOTHING,
                output_schema=STATUS_SCHEMA,
                tool_name="reset",
            ),
            handler=reset,
            waits=True,
            parameters=NoArguments,
        ),
    ]


async def _named_failures(what: str, change: Callable[[], Any]) -> dict[str, Any]:
    """The controller's failures as the program gets them."""
    try:
        result: dict[str, Any] = await change()
    except NoSupportedLevelError as error:
        details = {"wanted": error.wanted, "supported": list(error.supported), "bounds": error.bounds.to_dict()}
        raise HandlerError(f"{error}; nothing was changed", details=details) from None
    except (LevelOutsideBoundsError, HostUnresponsiveError) as error:
        raise HandlerError(f"thinking.{what}: {error}") from None
    except (OSError, TranscriptError) as error:
        raise HandlerError(f"thinking.{what}: the session could not be written: {error}") from error
    return result


_LEVEL_SCHEMA: Final[dict[str, Any]] = {"type": "string", "enum": list(LEVELS)}
_SCOPE_SCHEMA: Final[dict[str, Any]] = {"type": "string", "enum": list(SCOPES)}
_TURNS_SCHEMA: Final[dict[str, Any]] = {"type": "integer", "minimum": TURNS_MIN, "maximum": TURNS_MAX}
_REASON_SCHEMA: Final[dict[str, Any]] = {"type": "string", "maxLength": REASON_LIMIT_CHARACTERS}
_NOTHING: Final[dict[str, Any]] = {"type": "object", "properties": {}, "additionalProperties": False}
_SET_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "level": _LEVEL_SCHEMA,
        "scope": {**_SCOPE_SCHEMA, "default": "turn"},
        "turns": {**_TURNS_SCHEMA, "description": "agent runs, this one included; only with scope turns"},
        "reason": _REASON_SCHEMA,
    },
    "required": ["level"],
    "additionalProperties": False,
}
STATUS_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "level": _LEVEL_SCHEMA,
        "available": {"type": "array", "items": _LEVEL_SCHEMA},
        "bounds": {
            "type": "object",
            "properties": {"min": _LEVEL_SCHEMA, "max": _LEVEL_SCHEMA},
            "required": ["min", "max"],
        },
        "baseline": _LEVEL_SCHEMA,
        "override": {
            "type": "object",
            "properties": {
                "level": _LEVEL_SCHEMA,
                "scope": _SCOPE_SCHEMA,
                "remainingTurns": _TURNS_SCHEMA,
                "reason": _REASON_SCHEMA,
                "setAt": {"type": "integer", "description": "epoch milliseconds"},
            },
            "required": ["level", "scope", "setAt"],
        },
    },
    "required": ["level", "available", "bounds", "baseline"],
}
SET_RESULT_SCHEMA: Final[dict[str, Any]] = {
    **STATUS_SCHEMA,
    "properties": {**STATUS_SCHEMA["properties"], "clamped": {"const": True}, "requested": _LEVEL_SCHEMA},
}
