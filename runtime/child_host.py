"""This process as somebody's child: what it inherited, and the line to its parent; a root has neither."""

import os
import socket
from typing import Any

from child_agents.environment import LAUNCHER_FD
from child_agents.inheritance import ControlClient, Inheritance, from_environment
from host_bridge.approval_prompt import ApprovalRequest
from host_bridge.schema_gate import SCHEMA_MODES, SchemaMode
from host_bridge.trace import CallRecord
from host_bridge.zygote_launch import ZYGOTE_FD
from host_bridge.zygote_template import ZygoteTemplate

PREVIEW_CHARACTERS = 200


class ChildHost:
    """Everything a host does differently because a parent started it."""

    def __init__(self, inheritance: Inheritance | None) -> None:
        self.inheritance = inheritance
        self._control: ControlClient | None = None
        self.zygote_template: ZygoteTemplate | None = None
        """Where this host has the zygote of its guests forked; None: it starts one cold."""
        self.launchers: socket.socket | None = None
        """Where this host has the guardian of its own children forked; None: it starts one cold."""

    @property
    def path(self) -> tuple[str, ...]:
        """Names from the first child down to this one; empty in a root."""
        return () if self.inheritance is None else self.inheritance.path

    @property
    def is_driven(self) -> bool:
        """Whether a parent gave it its work over a control channel."""
        return self.inheritance is not None and self.inheritance.given is not None

    def control(self) -> ControlClient | None:
        """The line to the parent, opened at the first need, inside trio."""
        if self._control is None and self.inheritance is not None:
            self._control = self.inheritance.open_control()
        return self._control

    def approver(self) -> ControlClient | None:
        """Who answers questions here: the parent's person, where there is one."""
        given = None if self.inheritance is None else self.inheritance.given
        return self.control() if given is not None and given.person else None

    def input(self, own: Any) -> Any:
        """The program's input: the parent's, where it gave the work."""
        return self.inheritance.input if self.inheritance is not None and self.is_driven else own

    def schema_mode(self, own: SchemaMode) -> SchemaMode:
        """The stricter of both modes."""
        given = None if self.inheritance is None else self.inheritance.given
        return own if given is None else max(own, given.schema_mode, key=SCHEMA_MODES.index)

    def may_use(self, ref: str) -> bool:
        """Whether the ref is among the tools that this child was given."""
        return self.inheritance is None or self.inheritance.may_use(ref)

    @property
    def may_have_agents(self) -> bool:
        """Whether programs see `agents.*` here."""
        given = None if self.inheritance is None else self.inheritance.given
        return given is None or given.recursive


def inherited() -> ChildHost:
    """What this process inherited.

    Raises: child_agents.errors.InheritanceError: it was told to inherit and cannot; it must not go on.
    """
    child = ChildHost(from_environment(os.environ))
    zygotes, launchers = _handed_down(ZYGOTE_FD), _handed_down(LAUNCHER_FD)
    if child.is_driven:
        child.zygote_template = None if zygotes is None else ZygoteTemplate(zygotes)
        child.launchers = launchers
    return child


def _handed_down(variable: str) -> socket.socket | None:
    """The socket whose number the variable holds; nothing that this process starts inherits either."""
    number = os.environ.pop(variable, "")
    if not number.isdecimal():
        return None
    try:
        handed = socket.socket(fileno=int(number))
    except OSError:
        return None
    handed.set_inheritable(False)
    return handed


class ParentObserver:
    """Tells the parent what happens in this child's program, for its record and its live lines."""

    def __init__(self, control: ControlClient) -> None:
        self._control = control

    def call_started(self, call_id: int, ref: str) -> None:
        """Tell."""
        self._control.report("call_started", {"call": call_id, "ref": ref})

    def call_finished(self, record: CallRecord) -> None:
        """Tell."""
        data: dict[str, Any] = {"call": record.id, "ref": record.ref, "ok": record.ok, "ms": round(record.ms, 3)}
        if record.error is not None:
            data["error"] = {"kind": record.error.kind, "message": record.error.message[:PREVIEW_CHARACTERS]}
        self._control.report("call_finished", data)

    def log_printed(self, text: str) -> None:
        """Tell."""
        self._control.report("log", {"text": text})

    def approval_waiting(self, request: ApprovalRequest) -> None:
        """The parent is asked itself."""
