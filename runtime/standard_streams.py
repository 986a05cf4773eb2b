"""Standard streams as a process may find them: closed, full, or a pipe that nobody reads. It prints nothing."""

import codecs
import contextlib
import io
import os
import sys


def open_missing() -> None:
    """Put /dev/null where a standard descriptor is closed, so that no file of ours ever becomes descriptor 0, 1 or 2.

    Without it a session opened under `>&-` would be the guest zygote's and every child's standard output.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free number, which is this one; input is opened for writing, so that reading it fails.
            os.open(os.devnull, os.O_WRONLY)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  for the process's life
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def take_any_text() -> None:
    r"""Let standard output take what its encoding has no character for, as `\\u` escapes: JSON reads them back.

    Without it a locale that is not UTF-8 ends a run at its first accent.
    """
    codecs.register_error("json_escapes", _escaped)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="json_escapes")


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    pairs = (units[at : at + 2].hex() for at in range(0, len(units), 2))
    return "".join(f"\\u{unit}" for unit in pairs), error.end


def give_up_output() -> None:
    """After standard output failed: what is still buffered goes nowhere, so that the exit says nothing of its own."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)


def flush_output() -> OSError | None:
    """Bring out what is buffered; the error where nobody takes it."""
    try:
        sys.stdout.flush()
    except OSError as error:
        give_up_output()
        return error
    return None
