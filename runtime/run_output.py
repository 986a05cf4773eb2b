"""How `pi-fabric run` ends on its streams: one JSON object, or one line of refusal; it knows no run."""

import errno
import sys

from runtime.run_result import RunResult
from runtime.standard_streams import flush_output, give_up_output

OUTPUT_FAILED_STATUS = 1


def print_json(result: RunResult) -> int:
    """Print the one object of `--json`; the exit status, which is 1 where nobody could take a good result."""
    from host_bridge import strict_json

    # The path of the session need be no text; a halved character stands for each byte that is none.
    return _print(strict_json.encode(result.to_json(), lone_surrogates=True).decode(), result.exit_status)


def print_value(result: RunResult) -> int:
    """Print a piped run's result as one line of JSON; the exit status likewise."""
    from host_bridge import strict_json

    return _print(strict_json.encode(result.value).decode(), result.exit_status)


def print_refusal(result: RunResult) -> int:
    """Say on standard error why nothing ran."""
    message = result.error.message if result.error else ""
    print(f"pi-fabric run: {message}", file=sys.stderr)
    return result.exit_status


def output_failed(error: OSError, status: int) -> int:
    """Say that standard output failed, unless its reader simply left; the exit status."""
    give_up_output()
    if error.errno != errno.EPIPE:
        print(f"pi-fabric run: standard output: {error.strerror or error}", file=sys.stderr)
    return status or OUTPUT_FAILED_STATUS


def _print(line: str, status: int) -> int:
    try:
        sys.stdout.write(line + "\n")
    except OSError as error:
        return output_failed(error, status)
    failed = flush_output()
    return status if failed is None else output_failed(failed, status)
