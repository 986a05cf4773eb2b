"""The console entry point: streams, Ctrl-C and exit status around whichever command runs; it knows no command.

It imports nothing before it can answer an interrupt (`typing` alone took a third of the time until then), so that
Ctrl-C ends a command alike from the first line of ours on, while the rest is still being imported.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

INTERRUPTED_STATUS = 130
OUTPUT_FAILED_STATUS = 1


def main() -> "NoReturn":
    """Run the command line; exit status as each command documents it, 130 for an interrupt at any moment."""
    try:
        status = _to_status()
    except KeyboardInterrupt:
        status = _interrupted()
    sys.exit(status)


def _to_status() -> int:
    from runtime.standard_streams import open_missing, take_any_text

    open_missing()
    take_any_text()
    import click

    from runtime.command_group import cli

    failed: OSError | None = None
    try:
        status = cli.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None
    except SystemExit as ending:
        status = ending.code
    except OSError as error:
        status, failed = OUTPUT_FAILED_STATUS, error
    return _after_output(status if isinstance(status, int) else 0, failed)


def _after_output(status: int, failed: OSError | None) -> int:
    """The status, once all output is out; where it cannot be brought out, standard output is named as what failed."""
    import errno

    from runtime.standard_streams import flush_output

    unwritten = flush_output()
    if unwritten is None and failed is None:
        return status
    if unwritten is not None and unwritten.errno != errno.EPIPE:  # a reader that left has seen enough
        sys.stderr.write(f"pi-fabric: standard output: {unwritten.strerror}\n")
    elif failed is not None and failed.errno != errno.EPIPE:
        where = f"{failed.filename}: " if failed.filename else ""
        sys.stderr.write(f"pi-fabric: {where}{failed.strerror or failed}\n")
    return status or OUTPUT_FAILED_STATUS


def _interrupted() -> int:
    """Say it once, as the command's caller expects it; a second Ctrl-C changes nothing any more."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.argv[1:2] == ["run"] and "--json" in sys.argv:
        from runtime.run_output import print_json
        from runtime.run_result import failed_before_start

        print_json(failed_before_start("cancelled", "the run was interrupted before it began"))
    else:
        sys.stderr.write("pi-fabric: interrupted\n")
    return INTERRUPTED_STATUS
