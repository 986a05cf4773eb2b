"""Load `fabric.json`: find the files, check each, merge them, cut the thinking bounds by the inherited ones.

It knows no service; a malformed value is a `ConfigError` that names file, key, what stood there and what would do.
Order: built-in defaults, the person's global file, then the project's file if the person trusts the project.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, get_args, get_origin

import msgspec

from child_agents.inherited_bounds import InheritedBoundsError, inherited_bounds
from guest_api.bounds import UNBOUNDED, Bounds, BoundsError, inherit, parse_bounds, shown
from host_bridge.approvals import rule_problem
from host_bridge.argument_errors import closest
from host_bridge.mcp.settings import McpSettingsError, ServerSettings, server_settings
from host_bridge.type_words import wanted
from runtime import jsonc
from runtime.config_sections import (
    AgentsSection,
    ApprovalsSection,
    CaptureSection,
    ExecutorSection,
    FileShape,
    JsonObject,
    ModelsSection,
    SchemaSection,
    SessionSection,
    TelemetrySection,
    ThinkingSection,
    ToolsSection,
)
from runtime.models import ModelCatalog, catalog_from_providers
from runtime.trust import TrustFileError, TrustStore, agent_dir

CONFIG_FILE: Final = "fabric.json"
PROJECT_FOLDER: Final = ".pi"
FILE_LIMIT_BYTES: Final = 4 * 1024 * 1024
EMBEDDED: Final = "configuration"
"""What errors call a configuration that came as a value."""
_REPLACED_WHOLE: Final = frozenset({"thinking.bounds"})
"""One value although it is an object: mixing two files' ends could invert it."""
_JOINED: Final = frozenset({"approvals.rules"})
"""Lists that add up: a project's rules never remove the person's, and deny wins in any order."""
_MERGED_BY_NAME: Final = frozenset({"mcpServers", "agents.aliases", "models.providers"})
"""Named things: the project's entry replaces the person's of the same name as a whole."""
_PERSONAL: Final[Mapping[str, Any]] = {
    "managed": False,
    "executor.isolation": "strict",
    "tools.outsideProject": False,
    "agents.delegation": {},
}
"""Keys that a project's file may not move, with the value that it may repeat."""


class ConfigError(ValueError):
    """The configuration is unusable; commands end with status 2. One problem, the first that was found."""

    def __init__(self, where: str, message: str, *, key: str | None = None) -> None:
        super().__init__(f"{where}: {message}")
        self.where = where
        """The file, or the environment variable."""
        self.key = key
        """`thinking.bounds.min`."""
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The effective configuration of one host."""

    thinking: ThinkingSection
    """As configured, before the inherited bounds; `bounds` below is what counts."""
    approvals: ApprovalsSection
    schema: SchemaSection
    capture: CaptureSection
    agents: AgentsSection
    models: ModelsSection
    mcp_servers: Mapping[str, ServerSettings]
    executor: ExecutorSection
    session: SessionSection
    tools: ToolsSection
    telemetry: TelemetrySection
    managed: bool = False
    """True: the host has no `thinking.*` at all."""
    catalog: ModelCatalog
    """The models, by name."""
    bounds: Bounds = UNBOUNDED
    """The effective thinking bounds: the configured ones cut by the inherited ones."""
    inherited: bool = False
    """Whether a parent handed bounds down: only then a session moves its level inside them."""
    raw: Mapping[str, Any]
    """The merged object, with fields that are not ours."""
    files: tuple[Path, ...] = ()
    """What was read, in order of application."""
    warnings: tuple[str, ...] = ()
    """For standard error."""


def load_config(cwd: Path | str, config_file: Path | str | None = None, env: Mapping[str, str] | None = None) -> Config:
    """The configuration for work in `cwd`. `config_file` is read in place of the project's file, and needs no trust.

    Raises: ConfigError: a file or the inherited variable is unusable.
    Seed: thinking:bounds:malformed-fails, thinking:bounds:inverted-fails, thinking:child:intersects
    """
    environment = os.environ if env is None else env
    folder = agent_dir(environment)
    global_file, project_file = folder / CONFIG_FILE, Path(cwd) / PROJECT_FOLDER / CONFIG_FILE
    layers: list[tuple[Path, JsonObject]] = []
    warnings: list[str] = []
    personal = _read(global_file)
    if personal is not None:
        layers.append((global_file, personal))
    if config_file is not None:
        named = _read(Path(config_file))
        if named is None:
            raise ConfigError(str(config_file), "no such file")
        layers.append((Path(config_file), named))
    elif project_file.is_file() and not (global_file.exists() and project_file.samefile(global_file)):
        try:
            trusted = TrustStore(folder).is_trusted(Path(cwd))
        except TrustFileError as error:
            raise ConfigError(str(error).partition(": ")[0], str(error).partition(": ")[2]) from None
        if trusted:
            project = _read(project_file) or {}
            _refuse_personal_keys(project_file, project)
            layers.append((project_file, project))
        else:
            warnings.append(
                f"{project_file} was ignored: the project is not trusted; `pi-fabric trust {cwd}` lets it take effect"
            )
    merged: JsonObject = {}
    for path, layer in layers:
        _check(str(path), layer)
        merged = _merge(merged, layer, "")
    found = _build(merged, " + ".join(str(path) for path, _ in layers) or EMBEDDED, environment)
    return replace(found, files=tuple(path for path, _ in layers), warnings=tuple(warnings))


def parse_config(value: Mapping[str, Any], env: Mapping[str, str] | None = None) -> Config:
    """The configuration that an embedder hands over as a dict of `fabric.json`'s shape; no file is read.

    Raises: ConfigError: a value or the inherited variable is unusable.
    """
    merged = dict(value)
    _check(EMBEDDED, merged)
    return _build(merged, EMBEDDED, os.environ if env is None else env)


def embedded_defaults(env: Mapping[str, str] | None = None) -> Config:
    """What an embedded host runs with when nothing is said: defaults, no file, but inherited bounds still hold.

    Raises: ConfigError: the inherited variable is malformed.
    """
    return parse_config({}, env)


def _build(merged: JsonObject, where: str, environment: Mapping[str, str]) -> Config:
    shape = _check(where, merged)
    try:
        parent = inherited_bounds(environment)
    except InheritedBoundsError as error:
        raise ConfigError(
            "environment variable PI_FABRIC_THINKING_BOUNDS", error.reason, key="thinking.bounds"
        ) from None
    sections = {name: getattr(shape, name) for name in FileShape.__struct_fields__}
    return Config(
        **sections,
        catalog=catalog_from_providers(merged.get("models", {}).get("providers", {})),
        bounds=inherit(shape.thinking.bounds, parent),
        inherited=not parent.is_open,
        raw=merged,
    )


def _read(path: Path) -> JsonObject | None:
    """The object in a file; None: there is no such file."""
    try:
        with path.open("rb") as file:
            content = file.read(FILE_LIMIT_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(str(path), error.strerror or str(error)) from None
    if len(content) > FILE_LIMIT_BYTES:
        raise ConfigError(str(path), f"larger than {FILE_LIMIT_BYTES} bytes")
    try:
        value = jsonc.decode(content.decode())
    except UnicodeDecodeError:
        raise ConfigError(str(path), "not UTF-8 text") from None
    except jsonc.JsonTextError as error:
        raise ConfigError(str(path), str(error)) from None
    if not isinstance(value, dict):
        raise ConfigError(str(path), f"got {shown(value)}, wanted an object")
    return value


def _refuse_personal_keys(path: Path, project: JsonObject) -> None:
    """What a project may not decide for the person, trusted or not."""
    for key, harmless in _PERSONAL.items():
        value: Any = project
        for name in key.split("."):
            value = value.get(name, harmless) if isinstance(value, dict) else harmless
        if value != harmless:
            raise ConfigError(
                str(path), f"{key}: got {shown(value)}; this counts only in the global file or in --config", key=key
            )


def _merge(below: Any, above: Any, key: str) -> Any:
    if key == "managed":
        return below is True or above
    if key in _JOINED and isinstance(below, list) and isinstance(above, list):
        return [*below, *above]
    if not isinstance(below, dict) or not isinstance(above, dict) or key in _REPLACED_WHOLE:
        return above
    if key in _MERGED_BY_NAME:
        return {**below, **above}
    merged = dict(below)
    for name, value in above.items():
        inner = f"{key}.{name}" if key else name
        merged[name] = _merge(below[name], value, inner) if name in below else value
    return merged


def _check(where: str, value: JsonObject) -> FileShape:
    """The decoded file.

    Raises: ConfigError: the first problem, in the file's own order.
    """
    _check_object(where, FileShape, value, "")
    shape: FileShape = msgspec.convert(value, FileShape, strict=True)
    for index, rule in enumerate(shape.approvals.rules):
        problem = rule_problem(rule.ref, rule.action)
        if problem is not None:
            raise ConfigError(where, f"approvals.rules[{index}]: {problem}", key=f"approvals.rules[{index}]")
    for name, server in shape.mcp_servers.items():
        try:
            server_settings(name, server)
        except McpSettingsError as error:
            raise ConfigError(where, str(error), key=f"mcpServers.{name}") from None
    return shape


def _check_object(where: str, struct: type[msgspec.Struct], value: Any, path: str) -> None:
    if not isinstance(value, Mapping):
        raise ConfigError(where, f"{path}: got {shown(value)}, wanted an object", key=path)
    fields = {field.encode_name: field for field in msgspec.structs.fields(struct)}
    for name, item in value.items():
        inner = f"{path}.{name}" if path else str(name)
        if name not in fields:
            if struct.__struct_config__.forbid_unknown_fields:
                near = closest(name, [field for field in fields if field not in value] or list(fields))
                hint = f"; did you mean {near!r}?" if near else ""
                raise ConfigError(where, f"{inner}: unknown key, wanted one of {', '.join(fields)}{hint}", key=inner)
            continue
        _check_value(where, fields[name].type, item, inner)
    for name, field in fields.items():
        if field.required and name not in value:
            inner = f"{path}.{name}" if path else name
            raise ConfigError(where, f"{inner}: missing, wanted {wanted(field.type)}", key=inner)


def _check_value(where: str, kind: Any, value: Any, path: str) -> None:
    if kind is Bounds:
        try:
            parse_bounds(value, path)
        except BoundsError as error:
            raise ConfigError(where, str(error), key=error.path) from None
        return
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        _check_object(where, kind, value, path)
        return
    origin, inner = get_origin(kind), get_args(kind)
    if origin is dict and isinstance(value, Mapping):
        for name, item in value.items():
            _convert(where, inner[0], name, path)
            _check_value(where, inner[1], item, f"{path}.{name}")
        return
    if origin is list and isinstance(value, list):
        for index, item in enumerate(value):
            _check_value(where, inner[0], item, f"{path}[{index}]")
        return
    _convert(where, kind, value, path)


def _convert(where: str, kind: Any, value: Any, path: str) -> None:
    try:
        msgspec.convert(value, kind, strict=True)
    except (msgspec.ValidationError, RecursionError):
        names = [name for name in _names(kind) if isinstance(name, str)]
        near = closest(value, names)
        hint = f"; did you mean {near!r}?" if near else ""
        raise ConfigError(where, f"{path}: got {shown(value)}, wanted {wanted(kind)}{hint}", key=path) from None


def _names(kind: Any) -> list[Any]:
    """The words of a closed choice, however it is wrapped."""
    return [word for part in get_args(kind) for word in (_names(part) or [part])]
