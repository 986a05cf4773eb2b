"""Catalog files and session files, as the commands that explain and draw read them. It judges nothing."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from runtime.advisor.fingerprint import CatalogTool, Fingerprint


def load_catalog(path: Path) -> Fingerprint:
    """The index over a catalog file.

    Raises:
        ValueError: the file holds no list of tools; the message names the place.
    """
    try:
        items = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: no JSON: {error}") from None
    if not isinstance(items, list):
        raise ValueError(f"{path}: a catalog is a list of {{namespace, name, description}}")  # noqa: TRY004
    index = Fingerprint()
    index.set_slice(str(path), [_tool(path, number, item) for number, item in enumerate(items)])
    return index


def _tool(path: Path, number: int, item: Any) -> CatalogTool:
    if not isinstance(item, dict):
        raise ValueError(f"{path}: $[{number}] is no object")  # noqa: TRY004
    values = [item.get(key) for key in ("name", "description", "namespace")]
    if not isinstance(values[0], str) or not all(value is None or isinstance(value, str) for value in values):
        raise ValueError(f"{path}: $[{number}] needs a name, and text or null as description and namespace")
    return CatalogTool(values[0], values[1] or "", values[2])


def session_branch(session_file: Path) -> list[Any]:
    """The active branch of a session file as plain JSON, root first.

    Raises:
        ValueError: the file is no session.
    """
    from runtime.transcript.errors import TranscriptError
    from runtime.transcript.store import TranscriptStore

    try:
        with TranscriptStore.open(session_file, read_only=True) as store:
            return [entry.fields for entry in store.branch()]
    except TranscriptError as error:
        raise ValueError(str(error)) from None


def tools_by_name(index: Fingerprint) -> Callable[[str], Sequence[str] | None]:
    """The namespaces of every tool name in the catalog."""
    tools: dict[str, dict[str, None]] = {}
    for source in index.sources():
        for surface in source.surfaces:
            tools.setdefault(surface.name, {})[source.namespace] = None
    return lambda name: tuple(tools[name]) if name in tools else None


def refs_of(index: Fingerprint) -> Callable[[str], str | None]:
    """The namespace of every ref in the catalog, else by its shape."""
    refs = {surface.ref: source.namespace for source in index.sources() for surface in source.surfaces}

    def namespace_of_ref(ref: str) -> str | None:
        first, _, rest = ref.partition(".")
        return refs.get(ref) or (f"mcp:{rest.partition('.')[0]}" if first == "mcp" and "." in rest else None)

    return namespace_of_ref
