"""`pi-fabric advise`: explains what would be hinted, and draws a session's heat. It decides and appends nothing."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import click

from host_bridge.neutral_text import neutralise
from runtime.advisor.advisor import AdvisorState
from runtime.advisor.explain import explain
from runtime.advisor.explain_text import render_text
from runtime.advisor.fingerprint import Fingerprint
from runtime.advisor.history import Turn, walk, walk_prompts
from runtime.advisor.recorded import load_catalog, refs_of, session_branch, tools_by_name
from runtime.advisor.replay import replay
from runtime.advisor.service import EXEC_TOOL
from runtime.advisor.settings import MODES, AdvisorySettings, checked_settings, settings_from
from runtime.help_examples import examples

EXPLAIN: Final = "prompt"
PLOT: Final = "plot"
PROMPT_EXAMPLES: Final = examples(
    "pi-fabric advise --catalog tools.json 'what is the weather in Lisbon'",
    "pi-fabric advise --catalog tools.json --json < prompt.txt",
    "pi-fabric advise --catalog tools.json --session work.jsonl --explain",
)

_Command = TypeVar("_Command", bound=Callable[..., Any])


class AdviseGroup(click.Group):
    """`advise PROMPT` explains; `advise plot` draws. Anything but `plot` in front goes to the explaining command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Name the explaining command where none is named."""
        if args[:1] != [PLOT]:
            args = [EXPLAIN, *args]
        return super().parse_args(ctx, args)


class ExplainContext(click.Context):
    """The explaining command has no name of its own in usage lines."""

    @property
    def command_path(self) -> str:
        """The path of the group."""
        return "advise" if self.parent is None else self.parent.command_path


class ExplainCommand(click.Command):
    """What `advise` does unless told otherwise."""

    context_class = ExplainContext


@click.group(cls=AdviseGroup, epilog=PROMPT_EXAMPLES)
def command() -> None:
    """Explain what the capability advisor would hint for a prompt."""


def _settings_options(function: _Command) -> _Command:
    """The settings of `capture.advisory`, each over what the configuration says."""
    for option in reversed(
        (
            click.option("--mode", type=click.Choice(MODES), help="capture.advisory.mode"),
            click.option("--threshold", type=float, help="capture.advisory.threshold"),
            click.option("--max-per-session", type=int, help="capture.advisory.maxPerSession"),
            click.option("--budget", type=int, help="capture.advisory.budget, in tokens"),
            click.option("--minimum-surfaces", type=int, help="capture.advisory.minimumSurfaces"),
        )
    ):
        function = option(function)
    return function


@command.command(EXPLAIN, cls=ExplainCommand, epilog=PROMPT_EXAMPLES)
@click.option("--catalog", "catalog_file", required=True, type=click.Path(path_type=Path), help="JSON list of tools.")
@click.option(
    "--session", "session_file", type=click.Path(path_type=Path), help="A session file; its active branch counts."
)
@click.option("--explain", "explain_last", is_flag=True, help="Explain the session's last prompt as it was lived.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--sources", "most", type=click.IntRange(1), default=8, show_default=True, help="Sources to show as text."
)
@_settings_options
@click.argument("prompt", required=False)
def explain_command(
    catalog_file: Path,
    session_file: Path | None,
    explain_last: bool,
    as_json: bool,
    most: int,
    prompt: str | None,
    **overrides: Any,
) -> None:
    """Explain what would be hinted for PROMPT (`-` reads standard input), and why.

    With --session the prompt is judged as if that session were opened now: ash, echoes and spent hints of its branch
    count, heat and smoke start empty. With --explain its last prompt is judged with the heat and smoke that the branch
    had built up, as in one process without a reload.

    `pi-fabric advise plot` draws the heat of a session; its --help tells how.

    CATALOG holds a list of {"namespace", "name", "description"}. A prompt that reads "plot" goes through `-`.
    """
    try:
        index = load_catalog(catalog_file)
        settings = effective_settings(overrides)
        if explain_last:
            if session_file is None or prompt is not None:
                raise click.UsageError("--explain takes --session FILE and no PROMPT")
            turns, _ = _walked(session_file, index, settings)
            if not turns:
                _fail(f"{session_file}: no prompt on the active branch")
            state, text = turns[-1].before, turns[-1].prompt
        else:
            state = AdvisorState() if session_file is None else _durable(session_file, index)
            text = _prompt_text(prompt)
    except (ValueError, OSError) as error:
        _fail(str(error))
    explanation = explain(state, index, text, settings)
    if as_json:
        click.echo(json.dumps(explanation.as_json()))
    else:
        if explain_last:
            click.echo(f"last prompt: {neutralise(' '.join(text.split())[:200])}\n")
        click.echo(neutralise(render_text(explanation, most=most), keep_newlines=True))


@command.command(
    PLOT,
    epilog=examples(
        "pi-fabric advise plot --catalog tools.json --session work.jsonl -o heat.svg",
        "pi-fabric advise plot --catalog tools.json --prompts prompts.txt -o heat.html",
    ),
)
@click.option("--catalog", "catalog_file", required=True, type=click.Path(path_type=Path), help="JSON list of tools.")
@click.option(
    "--session", "session_file", type=click.Path(path_type=Path), help="A session file; its active branch is drawn."
)
@click.option(
    "--prompts", "prompts_file", type=click.Path(path_type=Path), help="Instead of a session: a prompt a line."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("heat.svg"),
    show_default=True,
    help="The picture: .svg, .html (with a table of the turns) or .png.",
)
@click.option("--title", help="The picture's title; default: the session's file name.")
@_settings_options
def plot_command(
    catalog_file: Path,
    session_file: Path | None,
    prompts_file: Path | None,
    output: Path,
    title: str | None,
    **overrides: Any,
) -> None:
    """Draw heat per source over the turns of a session, with the fire point, hints and burns.

    Hints that the session holds are drawn as they were; a session without any shows what would have fired.
    Needs the extra: pip install 'pi-fabric-py[plot]'
    """
    from runtime.advisor.plot import PlotExtraMissingError, save_plot

    if (session_file is None) == (prompts_file is None):
        raise click.UsageError("give either --session FILE or --prompts FILE")
    turns: list[Turn] = []
    name = ""
    try:
        index = load_catalog(catalog_file)
        settings = effective_settings(overrides)
        if session_file is not None:
            turns, _ = _walked(session_file, index, settings)
            name = session_file.stem
        elif prompts_file is not None:
            lines = [line for line in prompts_file.read_text(encoding="utf-8").splitlines() if line.strip()]
            turns, _ = walk_prompts(lines, index, settings)
            name = prompts_file.stem
        if not turns:
            _fail("no prompt to draw")
        save_plot(turns, settings.threshold, title or f"Advisor heat · {name}", output)
    except (PlotExtraMissingError, ValueError, OSError) as error:
        _fail(str(error))
    fired = sum(bool(turn.fired) for turn in turns)
    click.echo(f"{output}: {len(turns)} turns, {fired} {'hint' if fired == 1 else 'hints'}")


def effective_settings(overrides: dict[str, Any]) -> AdvisorySettings:
    """The configuration's `capture.advisory` here, with what the command line says instead.

    Raises:
        ValueError: a value lies outside its limits, or the configuration is unusable.
    """
    from dataclasses import replace

    from runtime.config import load_config

    settings = settings_from(load_config(Path.cwd()).capture.advisory)
    names = {"budget": "budget_tokens"}
    given = {names.get(name, name): value for name, value in overrides.items() if value is not None}
    return checked_settings(replace(settings, **given))


def _prompt_text(prompt: str | None) -> str:
    if prompt == "-" or (prompt is None and not sys.stdin.isatty()):
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    if prompt is None:
        raise click.UsageError("give a PROMPT, or - to read it from standard input")
    return prompt


def _durable(session_file: Path, index: Fingerprint) -> AdvisorState:
    return replay(
        session_branch(session_file),
        namespaces_of_tool=tools_by_name(index),
        exec_tool=EXEC_TOOL,
        namespace_of_ref=refs_of(index),
    )


def _walked(session_file: Path, index: Fingerprint, settings: AdvisorySettings) -> tuple[list[Turn], AdvisorState]:
    return walk(
        session_branch(session_file),
        index,
        settings,
        namespaces_of_tool=tools_by_name(index),
        exec_tool=EXEC_TOOL,
        namespace_of_ref=refs_of(index),
    )


def _fail(message: str) -> NoReturn:
    click.echo(f"pi-fabric advise: {message}", err=True)
    sys.exit(2)
