"""Schema mode: what a plan-first session lets through, by exact ref; it knows no risk and asks nobody.

Invariant: under `enforce` nothing passes but the refs listed here, whatever a provider declares of itself; the
registry lets no other source own them. Attacked by `tests/host_bridge/test_schema_gate.py`.
"""

from typing import Final, Literal, TypeAlias, get_args

SchemaMode: TypeAlias = Literal["off", "audit", "enforce"]
SCHEMA_MODES: Final[tuple[SchemaMode, ...]] = get_args(SchemaMode)

PASSES: Final = frozenset(
    {
        "thinking.status",
        "tools.providers",
        "tools.list",
        "tools.search",
        "tools.describe",
        "tools.catalog",
        "agents.status",
        "agents.list",
        "agents.log",
        "pi.read",
        "pi.grep",
        "pi.find",
        "pi.ls",
    }
)
"""Reads and status of the host itself. A server's tool that calls itself a read is not among them, and `agents.wait`
neither: it is no look at what is, but takes a child's result and keeps it from being told to the session.
`pi.*` are this host's own reads; a host where other tools stand behind these names must not let them pass.
"""

GateVerdict: TypeAlias = Literal["pass", "would_block", "block"]


def gate(mode: SchemaMode, ref: str) -> GateVerdict:
    """Whether Schema mode lets this ref through; `would_block` runs, and is recorded.

    Seed: thinking:control:enforce-blocks, thinking:control:enforce-allows-status
    """
    if mode == "off" or ref in PASSES:
        return "pass"
    return "block" if mode == "enforce" else "would_block"


def blocked_message(ref: str) -> str:
    """The refusal: what blocked it and the setting."""
    return f"{ref} is blocked by Schema mode enforce: only the host's reads and status pass (setting schema.mode)"
