"""The console entry point: streams, Ctrl-C and exit status around whichever command runs; it knows no command.

It imports next to nothing before it can answer an interrupt, so that Ctrl-C in the first tenth of a second, while the
rest is still being imported, ends like Ctrl-C later does.
"""

import sys
from typing import NoReturn

INTERRUPTED_STATUS = 130


def main() -> NoReturn:
    """Run the command line; exit status as each command documents it, 130 for an interrupt at any moment."""
    try:
        status = _to_status()
    except KeyboardInterrupt:
        status = _interrupted()
    sys.exit(status)


def _to_status() -> int:
    from runtime.standard_streams import flush_output, open_missing

    open_missing()
    import click

    from runtime.command_group import cli

    try:
        status = cli.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None
    flush_output()
    return status if isinstance(status, int) else 0


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
