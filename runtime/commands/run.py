"""`pi-fabric run`: one program on one session, for people or as one JSON object. It parses, runs and prints."""

import contextlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, cast

import click

from guest_api.levels import LEVELS
from host_bridge.descriptor import RISKS
from runtime.plain_display import display_for
from runtime.run_output import output_failed, print_json, print_refusal, print_value
from runtime.run_result import RunFailure, RunResult, failed_before_start, failed_with

SIGNAL_STATUS: Final = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
"""All of them end a run as Ctrl-C does, each with the status that shells expect of it."""
EXAMPLES: Final = """
\b
Examples:
  pi-fabric run program.py --allow write
  echo 'return sum(input)' | pi-fabric run - --input '[1, 2, 3]'
  pi-fabric run program.py --session work.jsonl --level low
  pi-fabric run program.py --continue --json | jq .value

\b
Exit status: 0 done, 1 the program failed, 2 usage or configuration,
3 isolation unavailable, 130 interrupted.
"""


class RunCommand(click.Command):
    """Answers `--json` even where the other options make no sense."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse; a usage error under `--json` is the one JSON object, with status 2."""
        given = list(args)
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            if "--json" in given:
                sys.exit(print_json(failed_before_start("config", error.format_message())))
            raise


@click.command(cls=RunCommand, epilog=EXAMPLES)
@click.argument("program", type=str)
@click.option("--input", "input_json", metavar="JSON", help="The value that the program sees as `input`.")
@click.option("--session", type=click.Path(dir_okay=False, path_type=Path), help="Create or resume this session file.")
@click.option("--continue", "continue_newest", is_flag=True, help="Resume the newest session of this folder.")
@click.option(
    "--session-dir", type=click.Path(file_okay=False, path_type=Path), help="Where new sessions go and old ones lie."
)
@click.option("--no-session", is_flag=True, help="Keep the session in memory.")
@click.option("--read-only", is_flag=True, help="Read the session, write nothing to it (also when it is in use).")
@click.option("--at", metavar="ENTRY", help="Continue the session from this entry.")
@click.option("--level", type=click.Choice(LEVELS), help="The session's thinking level.")
@click.option("--model", metavar="ID", help="A configured model, as provider/id or id.")
@click.option("--config", type=click.Path(dir_okay=False, path_type=Path), help="Read this in place of the project's.")
@click.option("--allow", multiple=True, type=click.Choice(RISKS), help="Allow this risk class for this run.")
@click.option("--deny", multiple=True, type=click.Choice(RISKS), help="Deny this risk class for this run.")
@click.option("--prompt", metavar="TEXT", help="Submit this prompt before the program runs.")
@click.option("--timeout", metavar="SECONDS", help="Wall clock limit of the program.")
@click.option("--max-memory", metavar="SIZE", help="Memory limit of the program: 256M, 1G.")
@click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON object.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but the result.")
@click.option("--progress/--no-progress", default=None, help="Show calls as they happen (default: on a terminal).")
def command(**given: Any) -> None:
    """Run the agent program PROGRAM (`-` reads standard input) in a confined guest.

    The program is the body of an async function: top-level await and return.
    """
    from runtime.run_options import OptionError, RunOptions, check

    options = RunOptions(**given)
    refuse = print_json if options.as_json else print_refusal
    try:
        check(options)
    except OptionError as error:
        sys.exit(refuse(failed_before_start("config", str(error))))
    sys.exit(_Run(options).to_exit_status())


class _Run:
    """The run from options to exit status: display around it, signals inside it."""

    def __init__(self, options: Any) -> None:
        self._zygote = _launched_zygote()
        self._options = options
        shown = sys.stdout.isatty() and sys.stderr.isatty() if options.progress is None else options.progress
        self._display = display_for(enabled=shown and not options.as_json and not options.quiet)
        self._silent = options.as_json or options.quiet
        self._signal: int | None = None
        self._child: Any = None
        self._host: Any = None
        """Once it is open: before that an interrupt ends the opening, after it the program."""
        self._result: RunResult | None = None
        self._session: str | None = None

    def to_exit_status(self) -> int:
        """Run, print, and answer with the status; a signal's own status comes before that of the result."""
        started = time.perf_counter()
        try:
            result = self._to_result()
        except KeyboardInterrupt:
            self._signal = signal.SIGINT
            result = self._interrupted()
        finally:
            if self._zygote is not None:
                self._zygote.discard()
        status = self._print(result, seconds=time.perf_counter() - started)
        return SIGNAL_STATUS[cast("signal.Signals", self._signal)] if self._signal else status

    def _print(self, result: RunResult, *, seconds: float) -> int:
        if self._options.as_json:
            return print_json(result)
        if result.error is not None and result.error.kind in ("config", "isolation"):
            return print_refusal(result)
        self._display.ends(result, seconds=seconds)
        failed = self._display.output_error
        if failed is None and result.ok and not self._display.enabled:
            return print_value(result)
        if failed is None and result.ok and result.value is not None:
            self._display.value(result.value)
            failed = self._display.output_error
        return result.exit_status if failed is None else output_failed(failed, result.exit_status)

    def _to_result(self) -> RunResult:
        """What the run came to; only an interrupt that no receiver took is raised."""
        import trio

        from child_agents.errors import InheritanceError
        from host_bridge.errors import BridgeError, IsolationUnavailableError
        from runtime.child_host import inherited
        from runtime.config import ConfigError, load_config
        from runtime.models import UnknownModelError
        from runtime.run_options import OptionError, read_input, read_program
        from runtime.transcript.errors import TranscriptError

        options = self._options
        try:
            self._child = inherited()
            value = self._child.input(read_input(options.input_json))
            source = read_program(options.program)
            config = load_config(Path.cwd(), options.config)
            for warning in config.warnings:
                self._display.warning(warning)
            return _alone(trio.run, self._run, config, source, value)
        except IsolationUnavailableError as error:
            return failed_before_start("isolation", str(error))
        except (InheritanceError, ConfigError, OptionError, UnknownModelError) as error:
            return failed_before_start("config", str(error))
        except (TranscriptError, BridgeError, OSError) as error:
            if self._host is None:
                return failed_before_start("config", str(error))
            return self._failed(str(error))
        except Exception as error:
            # A fault of ours: named as such, with its traceback for the report, and still the one object.
            traceback.print_exc()
            return self._failed(f"pi-fabric itself failed: {type(error).__name__}: {error}")

    def _failed(self, message: str) -> RunResult:
        """The host failed after it was open: what the run came to until then stays listed."""
        result = self._result or failed_before_start("host", message, session=self._session_file())
        return failed_with(result, RunFailure("host", message))

    def _interrupted(self) -> RunResult:
        return failed_before_start("cancelled", "the run was interrupted before it began", session=self._session_file())

    def _session_file(self) -> str | None:
        """The session, once there is a file of it."""
        return self._session if self._session and Path(self._session).exists() else None

    async def _run(self, config: Any, source: str, value: Any) -> RunResult:
        import trio

        from host_bridge.guest_process import SilentObserver
        from runtime.host import open_host
        from runtime.host_settings import run_limits
        from runtime.run_options import limits_with
        from runtime.terminal_approver import terminal_approver

        options, cwd = self._options, Path.cwd()
        limits = limits_with(options, run_limits(config))
        async with trio.open_nursery() as watchers:
            await watchers.start(self._watch_signals, watchers.cancel_scope.cancel)
            with self._session_store(config, cwd) as store:
                self._session = None if store.path is None else str(store.path)
                async with open_host(
                    config,
                    session=store,
                    level=options.level,
                    model=options.model,
                    at=options.at,
                    allow=options.allow,
                    deny=options.deny,
                    approver=self._display.undisturbed(terminal_approver(program_on_stdin=options.program == "-")),
                    cwd=cwd,
                    plugins=True,
                    child=self._child,
                    watch_agents=self._display.agents,
                    warn=self._display.warning,
                    limits=limits,
                    one_program=True,
                    launched=self._zygote,
                ) as host:
                    self._host = host
                    name = "standard input" if options.program == "-" else options.program
                    session = host.session
                    self._display.begins(
                        name,
                        session=session.path,
                        level=session.level,
                        model=session.model.key if session.model else None,
                    )
                    session.listeners.append(self._display.event)
                    self._result = await host.run_program(
                        source,
                        value,
                        observer=SilentObserver() if self._silent else self._display,
                        prompt=options.prompt,
                    )
            watchers.cancel_scope.cancel()
        return self._result or self._interrupted()

    async def _watch_signals(self, give_up: Callable[[], None], *, task_status: Any) -> None:
        """The first signal ends the program, or the opening of the host; a later one does not wait for the closing."""
        import trio

        with trio.open_signal_receiver(*SIGNAL_STATUS) as signals:
            task_status.started()
            async for number in signals:
                self._signal = self._signal or number
                if self._host is None or self._result is not None:
                    give_up()
                else:
                    self._host.interrupt()

    @contextlib.contextmanager
    def _session_store(self, config: Any, cwd: Path) -> Iterator[Any]:
        from runtime.run_options import OptionError, choose_session
        from runtime.transcript.folder import create_session
        from runtime.transcript.store import TranscriptStore

        choice = choose_session(self._options, cwd)
        durability = config.session.durability
        try:
            if choice.path is not None and self._options.read_only:
                self._display.warning(f"{choice.path} is only read: nothing of this run is kept")
                store = TranscriptStore.in_memory_copy(choice.path)
            elif choice.path is not None:
                choice.path.parent.mkdir(parents=True, exist_ok=True)
                store = TranscriptStore.open_or_create(choice.path, cwd=cwd, durability=durability, deferred=True)
            elif choice.folder is not None:
                store = create_session(cwd, folder=choice.folder, durability=durability, deferred=True)
            else:
                store = TranscriptStore.in_memory(cwd=cwd)
        except OSError as error:
            raise OptionError(f"the session {choice.path or choice.folder}: {error.strerror or error}") from None
        for finding in store.skipped:
            self._display.warning(f"{choice.path}: line {finding.line} was skipped: {finding.message}")
        with contextlib.closing(store):
            yield store


def _launched_zygote() -> Any:
    """The guests' zygote on its way while the rest is imported; None: it is started later, or not at all."""
    from host_bridge.errors import IsolationUnavailableError
    from host_bridge.zygote_launch import ZYGOTE_FD, launch

    if ZYGOTE_FD in os.environ:
        return None  # a child host has its zygote forked from a warm process
    try:
        return launch()
    except (IsolationUnavailableError, OSError):
        return None  # the host meets the same, and says so


def _alone(call: Callable[..., RunResult], *args: Any) -> RunResult:
    """The call's result; an exception that comes alone in a group comes as itself, and an interrupt always does."""
    from host_bridge.errors import lone

    try:
        return call(*args)
    except BaseExceptionGroup as group:
        if group.subgroup(KeyboardInterrupt) is not None:
            raise KeyboardInterrupt from None
        raise lone(group) from None
