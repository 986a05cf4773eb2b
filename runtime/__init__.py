"""The host: one event loop with a session, its services, and the guests it lets in.

Map: `host.py` composes everything (`open_host`); `session.py` holds the order of events; `transcript/` is the store,
`thinking/` the effort control, `advisor/` the hints, `hosts/` who owns level and branch; `config.py` reads
`fabric.json`; `cli.py` and `commands/` are the command line.
"""

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would delay the answer to an early Ctrl-C
if TYPE_CHECKING:
    from typing import Any

    from host_bridge.actions import action
    from host_bridge.approval_prompt import Answer, ApprovalRequest
    from runtime.config import Config, ConfigError, load_config
    from runtime.extensions import tool
    from runtime.host import Host, open_host
    from runtime.run_result import RunResult

_HOMES = {
    "Answer": "host_bridge.approval_prompt",
    "ApprovalRequest": "host_bridge.approval_prompt",
    "Config": "runtime.config",
    "ConfigError": "runtime.config",
    "Host": "runtime.host",
    "RunResult": "runtime.run_result",
    "action": "host_bridge.actions",
    "load_config": "runtime.config",
    "open_host": "runtime.host",
    "tool": "runtime.extensions",
}

__all__ = [
    "Answer",
    "ApprovalRequest",
    "Config",
    "ConfigError",
    "Host",
    "RunResult",
    "action",
    "load_config",
    "open_host",
    "tool",
]


def __getattr__(name: str) -> "Any":
    """Import a public name at its first use: `pi-fabric --help` pays for none of them."""
    import importlib

    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'runtime' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)
