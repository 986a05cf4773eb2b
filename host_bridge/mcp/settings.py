"""What one entry of `mcpServers` says; it starts nothing and reads no environment by itself."""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from host_bridge.descriptor import Risk
from host_bridge.results import ARRIVAL_BYTES

INHERITED_VARIABLES: Final = (
    *("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"),
    *("LANG", "LC_ALL", "LC_CTYPE", "TZ"),
)
"""What a server needs to run at all; anything else, secrets above all, only by name in its `env`."""
_VARIABLE: Final = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}|^\$(\w+)$")


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One server: `command` (stdio) or `url` (streamable HTTP).

    Such entries are copied between programs, so keys of other clients are read over; `autoApprove` approves nothing.
    """

    command: str | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    """Values may be `$NAME` or `${NAME}`: the host's variable of that name, an error where it is not set."""
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] = {}
    """As `env`."""
    type: Literal["stdio", "http", "streamable-http", "streamableHttp"] | None = None
    description: str = ""
    disabled: bool = False
    timeout_ms: int = 60_000
    """The longest one call may take; the server has no say in it."""
    start_timeout_ms: int = 30_000
    """From the start of the process to its list of tools."""
    max_result_bytes: int = ARRIVAL_BYTES
    """One message of the server; more is refused while it is still arriving."""
    risk: Risk | None = None
    """The class of its tools; None: `network`, since a server may do anything with a call."""
    risks: dict[str, Risk] = {}
    """Single tools, by the server's own names."""
    trust_annotations: bool = False
    """True: `readOnlyHint` and its like decide the class. False: a server's word about itself lowers nothing."""

    @property
    def over_http(self) -> bool:
        """Whether it is reached by URL."""
        return self.url is not None


class McpSettingsError(ValueError):
    """An entry of `mcpServers` that cannot be used; the message begins with its key."""


def server_settings(name: str, entry: msgspec.Struct | Mapping[str, Any]) -> ServerSettings:
    """The checked settings of one entry.

    Raises: McpSettingsError: names the key, what stands there and what may stand there.
    """
    where = f"mcpServers.{name}"
    try:
        settings = msgspec.convert(msgspec.to_builtins(entry), ServerSettings)
    except msgspec.ValidationError as error:
        raise McpSettingsError(f"{where}: {error}") from None
    _check(where, settings)
    return settings


def _check(where: str, entry: ServerSettings) -> None:
    if (entry.command is None) == (entry.url is None):
        raise McpSettingsError(f"{where}: wants exactly one of `command` (stdio) and `url` (streamable HTTP)")
    if entry.type is not None and (entry.type != "stdio") != entry.over_http:
        raise McpSettingsError(f"{where}.type: {entry.type!r} does not go with `{'url' if entry.url else 'command'}`")
    if entry.url is not None and not entry.url.startswith(("http://", "https://")):
        raise McpSettingsError(f"{where}.url: {entry.url!r} is no http or https address")
    numbers = {
        "timeoutMs": entry.timeout_ms,
        "startTimeoutMs": entry.start_timeout_ms,
        "maxResultBytes": entry.max_result_bytes,
    }
    for key, number in numbers.items():
        if number < 1:
            raise McpSettingsError(f"{where}.{key}: got {number}, wanted at least 1")


def environment(name: str, settings: ServerSettings, host: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of the server's process: the inherited few and what is configured.

    Raises: McpSettingsError: a configured value names a variable that is not set.
    """
    inherited = {key: host[key] for key in INHERITED_VARIABLES if key in host}
    where = f"mcpServers.{name}.env"
    return inherited | {key: _filled(f"{where}.{key}", value, host) for key, value in settings.env.items()}


def http_headers(name: str, settings: ServerSettings, host: Mapping[str, str]) -> dict[str, str]:
    """The configured headers, filled in.

    Raises: McpSettingsError: a configured value names a variable that is not set.
    """
    return {key: _filled(f"mcpServers.{name}.headers.{key}", value, host) for key, value in settings.headers.items()}


def _filled(where: str, value: str, host: Mapping[str, str]) -> str:
    def replacement(match: re.Match[str]) -> str:
        variable = match[1] or match[3]
        if variable in host:
            return host[variable]
        if match[2] is not None:
            return match[2]
        raise McpSettingsError(f"{where}: the environment variable {variable} is not set")

    return _VARIABLE.sub(replacement, value)
