"""`docs/reference/configuration.md` names every setting and its default."""

import re
from pathlib import Path

import msgspec

from runtime.config_sections import FileShape

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "configuration.md").read_text()


def section(name: str) -> str:
    return PAGE.partition(f"### `{name}`\n")[2].partition("\n### ")[0]


def settings(struct, prefix=""):
    for field in msgspec.structs.fields(struct):
        kind = field.type
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and field.name != "bounds":
            yield from settings(kind, f"{prefix}{field.encode_name}.")
        else:
            yield prefix.removesuffix("."), field


def test_every_setting_stands_in_its_section_with_its_default():
    for name, field in settings(FileShape):
        if not name:
            assert f"### `{field.encode_name}`" in PAGE
            continue
        text = section(name)
        assert f"`{field.encode_name}`" in text, (name, field.encode_name)
        default = field.default
        if isinstance(default, bool):
            default = str(default).lower()
        if isinstance(default, int | float | str) and not isinstance(default, bool):
            row = next(line for line in text.splitlines() if line.startswith("|") and f"`{field.encode_name}`" in line)
            assert re.search(rf"\| `?{re.escape(str(default))}`? \|", row), (name, field.encode_name, default)


def test_the_entries_of_a_server_are_all_named():
    text = section("mcpServers")
    shape = dict((field.name, field.type) for field in msgspec.structs.fields(FileShape))["mcp_servers"]
    server = shape.__args__[1]
    for field in msgspec.structs.fields(server):
        if field.encode_name not in ("type", "description"):
            assert f"`{field.encode_name}`" in text, field.encode_name


def test_the_bounds_are_documented_with_default_and_error():
    row = next(line for line in section("thinking").splitlines() if "`bounds`" in line)
    assert "unbounded" in row
    assert "fail the load" in row
