"""One entry of `mcpServers`: what it may say, and which variables a server gets."""

from typing import Any

import pytest

from host_bridge.mcp.settings import McpSettingsError, environment, http_headers, server_settings


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({}, "mcpServers.git: wants exactly one of `command` (stdio) and `url` (streamable HTTP)"),
        ({"command": "x", "url": "http://h"}, "wants exactly one of"),
        ({"command": 5}, "mcpServers.git: Expected `str | null`, got `int` - at `$.command`"),
        ({"command": "x", "risk": "safe"}, "Invalid enum value 'safe' - at `$.risk`"),
        ({"command": "x", "timeoutMs": 0}, "mcpServers.git.timeoutMs: got 0, wanted at least 1"),
        ({"url": "ftp://h"}, "mcpServers.git.url: 'ftp://h' is no http or https address"),
        ({"url": "http://h", "type": "stdio"}, "mcpServers.git.type: 'stdio' does not go with `url`"),
    ],
)
def test_an_unusable_entry_is_named(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(McpSettingsError, match=r"mcpServers\.git") as caught:
        server_settings("git", entry)
    assert message in str(caught.value)


def test_keys_of_other_clients_are_read_over_and_approve_nothing() -> None:
    settings = server_settings("git", {"command": "x", "autoApprove": ["*"], "alwaysAllow": ["go"]})
    assert settings.risk is None
    assert settings.risks == {}


def test_a_server_gets_the_few_inherited_variables_and_what_is_configured() -> None:
    host = {"PATH": "/bin", "HOME": "/home/a", "OPENAI_API_KEY": "secret", "GH": "token", "LD_PRELOAD": "x"}
    settings = server_settings(
        "git", {"command": "x", "env": {"A": "1", "B": "$GH", "C": "Bearer ${GH}", "D": "${NO:-d}"}}
    )
    assert environment("git", settings, host) == {
        "PATH": "/bin",
        "HOME": "/home/a",
        "A": "1",
        "B": "token",
        "C": "Bearer token",
        "D": "d",
    }


def test_a_variable_that_is_not_set_is_named_by_its_key() -> None:
    settings = server_settings("web", {"url": "https://h", "headers": {"Authorization": "Bearer ${TOKEN}"}})
    with pytest.raises(McpSettingsError, match=r"mcpServers.web.headers.Authorization: .* TOKEN is not set"):
        http_headers("web", settings, {})
