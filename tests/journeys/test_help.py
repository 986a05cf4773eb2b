"""Every command explains itself, with examples that its own options would take."""

from collections.abc import Iterator

import click
import pytest

from runtime.command_group import cli


def commands(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path[-1])
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from commands(inner, (*path, name))


FOUND = dict(commands(cli, ("pi-fabric",)))


@pytest.mark.parametrize("path", FOUND, ids=" ".join)
def test_help_ends_with_examples_of_the_command_itself(path: tuple[str, ...]) -> None:
    text = FOUND[path].get_help(click.Context(FOUND[path], info_name=" ".join(path)))
    named = [word for word in path if word != "prompt"]
    assert any(" ".join(named) in line for line in text.splitlines()[1:]), text
    assert "\\b" not in text


def test_every_command_of_the_reference_exists() -> None:
    names = {path[1] for path in FOUND if len(path) > 1}
    assert names == {"run", "doctor", "sessions", "approvals", "trust", "agents", "advise", "advisor"}
