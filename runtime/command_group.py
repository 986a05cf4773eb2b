"""The group of commands: names its subcommands and loads the one that is asked for, nothing else."""

import importlib
from typing import Final

import click

from runtime.help_examples import examples

COMMANDS: Final[dict[str, str]] = {
    "run": "Run an agent program in a confined guest.",
    "doctor": "Show which isolation layers work here, and try them.",
    "sessions": "List, show and check session files.",
    "approvals": "List and revoke stored approval rules.",
    "trust": "Let a project's .pi/fabric.json take effect.",
    "agents": "List, show and stop child agents.",
    "advise": "Explain what the capability advisor would hint for a prompt.",
    "advisor": "Replay recorded advisor scenarios.",
}
"""Name to help line, so that `--help` imports no command."""


class LazyGroup(click.Group):
    """Commands are imported when they run: a cold start pays for one of them only."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The names in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import `runtime.commands.<name>`; None for a name that does not exist."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"runtime.commands.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The table of `--help`, without importing a command."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "pi-fabric run program.py --allow write",
        "echo 'return 1 + 1' | pi-fabric run - --json",
        "pi-fabric doctor",
    ),
)
@click.version_option(package_name="pi-fabric-py", prog_name="pi-fabric")
def cli() -> None:
    """Run agent programs in real Python, confined by the kernel."""
