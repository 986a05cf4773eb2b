"""The sections of `fabric.json` as they are written: names, types, limits and defaults. It reads no file.

Every section refuses unknown keys except where the shape is somebody else's: `models.providers` is Pi's, and the
entries of `mcpServers` are copied between programs.
"""

from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec

from guest_api.bounds import UNBOUNDED, Bounds
from guest_api.levels import Level
from host_bridge.mcp.settings import ServerSettings
from runtime.advisor.constants import DEFAULT_BRANCH_CAP, DEFAULT_THRESHOLD
from runtime.advisor.limits import (
    BUDGET_TOKENS_RANGE,
    DEFAULT_BUDGET_TOKENS,
    MAX_PER_SESSION_RANGE,
    MINIMUM_SURFACES_RANGE,
    THRESHOLD_RANGE,
)

ApprovalMode: TypeAlias = Literal["allow", "ask", "deny", "auto"]
Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
PositiveNumber: TypeAlias = Annotated[float, msgspec.Meta(gt=0)]
NotNegative: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]

KIB: Final = 1024
MIB: Final = 1024 * 1024


class Section(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Ours: an unknown key is a typing error and refused."""


class ThinkingSection(Section, frozen=True):
    """`thinking`."""

    bounds: Bounds = UNBOUNDED
    """Caps every level that we select; default unbounded."""


class ApprovalRule(Section, frozen=True):
    """One of `approvals.rules`: narrower refs win, deny always wins."""

    ref: Annotated[str, msgspec.Meta(min_length=1, max_length=300)]
    """An exact ref (`pi.bash`) or a prefix that ends in `.*` (`mcp.git.*`)."""
    action: ApprovalMode


class ApprovalsSection(Section, frozen=True):
    """`approvals`: what happens with a call of each risk class."""

    read: ApprovalMode = "allow"
    write: ApprovalMode = "ask"
    execute: ApprovalMode = "ask"
    network: ApprovalMode = "ask"
    agent: ApprovalMode = "ask"
    rules: list[ApprovalRule] = []
    prompt_timeout_ms: Positive | None = None
    """How long a person may take to answer before it counts as no; null: as long as the run lives."""


class SchemaSection(Section, frozen=True):
    """`schema`."""

    mode: Literal["off", "audit", "enforce"] = "off"


class AdvisorySection(Section, frozen=True):
    """`capture.advisory`."""

    mode: Literal["disabled", "hidden", "enabled"] = "enabled"
    threshold: Annotated[float, msgspec.Meta(ge=THRESHOLD_RANGE[0], le=THRESHOLD_RANGE[1])] = DEFAULT_THRESHOLD
    """The base fire point."""
    max_per_session: Annotated[int, msgspec.Meta(ge=MAX_PER_SESSION_RANGE[0], le=MAX_PER_SESSION_RANGE[1])] = (
        DEFAULT_BRANCH_CAP
    )
    """Hints on one branch."""
    budget: Annotated[int, msgspec.Meta(ge=BUDGET_TOKENS_RANGE[0], le=BUDGET_TOKENS_RANGE[1])] = DEFAULT_BUDGET_TOKENS
    """Tokens of one hint's text."""
    minimum_surfaces: Annotated[int, msgspec.Meta(ge=MINIMUM_SURFACES_RANGE[0], le=MINIMUM_SURFACES_RANGE[1])] = 0
    """Sources with fewer tools never pass the topic-share rule; 0: no minimum, as the specification has it."""


class CaptureSection(Section, frozen=True):
    """`capture`."""

    advisory: AdvisorySection = AdvisorySection()


class AgentAlias(Section, frozen=True):
    """One of `agents.aliases`."""

    model: str | None = None
    thinking: Level | None = None


class AgentsSection(Section, frozen=True):
    """`agents`: children and their limits."""

    runner: str = "program"
    thinking: Level | None = None
    """The level of runs that name none; null: no level is sent."""
    aliases: dict[str, AgentAlias] = {}
    max_concurrent: Positive = 4
    max_per_execution: NotNegative = 100
    max_depth: NotNegative = 2
    max_descendants: NotNegative = 256
    max_turns: Positive = 100
    max_cost: Annotated[float, msgspec.Meta(ge=0)] = 10.0
    """US dollars of all descendants of one root together."""
    timeout_ms: Positive = 3_600_000
    stop_grace_seconds: PositiveNumber = 5.0
    retention_days: PositiveNumber = 14.0
    resident_idle_seconds: PositiveNumber = 30.0
    environment: list[str] = []
    """Further variables that children receive."""
    delegation: dict[Literal["read", "write", "execute", "network", "agent"], Literal["allow", "ask", "deny"]] = {}
    """Risk classes that children may have beyond their caller; counts only in the person's own file."""
    warm_template: bool = True
    pid_namespace: bool = True


class ModelEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One model of a provider, in Pi's shape; further fields are Pi's and kept."""

    id: Annotated[str, msgspec.Meta(min_length=1)]
    name: str | None = None
    reasoning: bool = False
    thinking_level_map: dict[Level, str | None] = {}


class ProviderEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One of `models.providers`, in Pi's shape; further fields are Pi's and kept."""

    base_url: str | None = None
    api: str | None = None
    api_key: str | None = None
    models: list[ModelEntry] = []


class ModelsSection(Section, frozen=True):
    """`models`."""

    providers: dict[str, ProviderEntry] = {}


class ExecutorSection(Section, frozen=True):
    """`executor`: the limits of one run."""

    isolation: Literal["strict", "trusted-process-only"] = "strict"
    timeout_ms: Positive = 120_000
    """Wall clock; it stands still while a person is asked."""
    cpu_seconds: Positive = 60
    memory_limit_bytes: Positive = 256 * MIB
    source_limit_bytes: Positive = 64 * KIB
    output_limit_bytes: NotNegative = MIB
    result_limit_bytes: Positive = 16 * MIB
    frame_limit_bytes: Annotated[int, msgspec.Meta(ge=4096)] = MIB
    reply_buffer_bytes: Annotated[int, msgspec.Meta(ge=4096)] = 32 * MIB
    max_calls: NotNegative = 10_000
    max_calls_in_flight: Positive = 256
    max_timers_in_flight: Positive = 4096
    pool_size: Annotated[int, msgspec.Meta(ge=0, le=256)] = 4
    """Confined guests kept ready."""
    awake_ms: Annotated[int, msgspec.Meta(ge=0, le=60_000)] = 120
    """After a program, how long the next guest keeps a free processor awake for the one that follows; 0: it sleeps."""


class SessionSection(Section, frozen=True):
    """`session`: the session file."""

    durability: Literal["entry", "run", "none"] = "run"
    """When a line is forced to the disk: after each entry, at the end of a run, or when the system likes."""


class ToolsSection(Section, frozen=True):
    """`tools`: our own `pi.*` tools."""

    outside_project: bool = False
    """Whether file tools may leave the project's folder; counts only in the person's own file."""


class TelemetrySection(Section, frozen=True):
    """`telemetry`: OpenTelemetry export of the trace, with the extra `otel`."""

    enabled: bool = False


class FileShape(Section, frozen=True):
    """A whole `fabric.json`."""

    thinking: ThinkingSection = ThinkingSection()
    approvals: ApprovalsSection = ApprovalsSection()
    schema: SchemaSection = SchemaSection()
    capture: CaptureSection = CaptureSection()
    agents: AgentsSection = AgentsSection()
    models: ModelsSection = ModelsSection()
    mcp_servers: dict[str, ServerSettings] = {}
    executor: ExecutorSection = ExecutorSection()
    session: SessionSection = SessionSection()
    tools: ToolsSection = ToolsSection()
    telemetry: TelemetrySection = TelemetrySection()
    managed: bool = False
    """A host that is managed has no `thinking.*`; counts only in the global file."""


JsonObject: TypeAlias = dict[str, Any]
