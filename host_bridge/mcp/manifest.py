"""What a server offers, as data with a hash, and its cache on disk; it starts no server.

A cached manifest makes a server's tools searchable before the server has ever been started in this process. It is a
copy for reading: nothing in it grants anything, and a damaged file is as good as none.
"""

import hashlib
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from host_bridge.descriptor import Descriptor, Effect, Risk
from host_bridge.mcp.names import may_be_part, ref_parts
from host_bridge.mcp.settings import ServerSettings

MANIFEST_BYTES: Final = 32 * 1024 * 1024
"""A cache file or a list of tools may be this long; the largest real server we saw needs 0.4 MB."""
_SAFE: Final = re.compile(r"[^A-Za-z0-9_-]+")


class Tool(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One tool, as its server describes it."""

    name: str
    description: str = ""
    input_schema: dict[str, Any] = {}
    output_schema: dict[str, Any] | None = None
    read_only_hint: bool | None = None
    open_world_hint: bool | None = None


class Manifest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Everything a server offers."""

    version: int = 1
    server: str = ""
    """Name and version, as the server gives them."""
    tools: list[Tool] = []
    hash: str = ""
    """SHA-256 of the tools' canonical JSON: equal hashes, equal tools."""


_decoder: Final = msgspec.json.Decoder(Manifest)


def manifest(server: str, tools: list[Tool]) -> Manifest:
    """The manifest of these tools, with its hash; a name that comes twice counts once."""
    distinct = list({tool.name: tool for tool in tools}.values())
    digest = hashlib.sha256(msgspec.json.encode(distinct, order="sorted")).hexdigest()
    return Manifest(server=server, tools=distinct, hash=digest)


def tool_risk(settings: ServerSettings, tool: Tool) -> Risk:
    """The class of one tool: the person's word, else the server's where it is trusted, else `network`.

    A hint is a stranger's claim about itself; believing it would let any server walk around the approvals.
    """
    if tool.name in settings.risks:
        return settings.risks[tool.name]
    if settings.risk is not None:
        return settings.risk
    if settings.trust_annotations and tool.read_only_hint:
        return "read"
    if settings.trust_annotations and tool.open_world_hint is False:
        return "write"
    return "network"


def possible_risks(settings: ServerSettings, part: str) -> tuple[Risk, ...]:
    """Every class that `tool_risk` could give a tool whose part of the ref is `part`, the likeliest first."""
    named = [risk for name, risk in settings.risks.items() if may_be_part(name, part)]
    if settings.risk is not None:
        others: tuple[Risk, ...] = (settings.risk,)
    else:
        others = ("network", "read", "write") if settings.trust_annotations else ("network",)
    return tuple(dict.fromkeys((*named, *others)))


def descriptors(
    server: str, part: str, settings: ServerSettings, found: Manifest
) -> dict[str, tuple[Descriptor, Tool]]:
    """The server's tools as actions, by ref; `part` is the server's own part of it."""
    parts = ref_parts(tool.name for tool in found.tools)
    out: dict[str, tuple[Descriptor, Tool]] = {}
    for tool in found.tools:
        risk = tool_risk(settings, tool)
        ref = f"mcp.{part}.{parts[tool.name]}"
        out[ref] = (
            Descriptor(
                ref=ref,
                risk=risk,
                description=tool.description,
                effect=None if risk == "read" else Effect(kind="network", resources=(f"mcp:{server}",)),
                input_schema=tool.input_schema or None,
                output_schema=tool.output_schema,
                namespace=f"mcp:{server}",
                tool_name=tool.name,
                speculation_eligible=risk == "read",
            ),
            tool,
        )
    return out


class ManifestCache:
    """Manifests on disk, one private file a server; keyed by how the server is reached, so that a change forgets."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: str, settings: ServerSettings) -> Path:
        """Where the manifest of this server lies; no value of `env` or `headers` goes into the name."""
        key = [
            settings.command,
            settings.args,
            settings.cwd,
            settings.url,
            sorted(settings.env),
            sorted(settings.headers),
        ]
        digest = hashlib.sha256(msgspec.json.encode([name, key])).hexdigest()
        return self.folder / f"{_SAFE.sub('_', name)[:60]}-{digest[:16]}.json"

    def load(self, name: str, settings: ServerSettings) -> Manifest | None:
        """The cached manifest; None: there is none that can be used."""
        path = self.path(name, settings)
        try:
            if path.stat().st_size > MANIFEST_BYTES:
                return None
            cached = _decoder.decode(path.read_bytes())
        except (OSError, msgspec.MsgspecError, RecursionError, ValueError):
            return None
        return cached if cached.version == 1 and cached == manifest(cached.server, cached.tools) else None

    def save(self, name: str, settings: ServerSettings, found: Manifest) -> None:
        """Keep a manifest, whole or not at all. A cache that cannot be written is only slower."""
        path = self.path(name, settings)
        data = msgspec.json.encode(found)
        if len(data) > MANIFEST_BYTES:
            return
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            temporary.replace(path)


def tools_of(listed: Mapping[str, Any]) -> list[Tool]:
    """The tools of a `tools/list` answer in JSON form; a field of the wrong shape is left out, a nameless tool too."""
    tools: list[Tool] = []
    for entry in listed.get("tools") or []:
        hints = entry.get("annotations") or {}
        if isinstance(entry.get("name"), str) and entry["name"]:
            tools.append(
                Tool(
                    name=entry["name"],
                    description=entry.get("description") or hints.get("title") or entry.get("title") or "",
                    # Some servers write `"properties": null` for none.
                    input_schema={
                        key: part for key, part in (entry.get("inputSchema") or {}).items() if part is not None
                    },
                    output_schema=entry.get("outputSchema"),
                    read_only_hint=hints.get("readOnlyHint"),
                    open_world_hint=hints.get("openWorldHint"),
                )
            )
    return tools
