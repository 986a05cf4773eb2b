"""The `program` runner: a guest program in a child host of its own (`python -m runtime run - --json`); pure."""

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from child_agents.process import module_argv
from child_agents.request import Failure, Usage
from child_agents.resolver import ResolvedRun
from child_agents.runners.port import LaunchSpec, Outcome, RunnerEvent, text_of
from guest_api.levels import is_level
from host_bridge import strict_json

LIMIT_SETTING: Final = re.compile(r"\(setting ([\w.]+)")


class ProgramRunner:
    """Children that run a program."""

    name = "program"
    takes_messages = False

    def __init__(self, module: str = "runtime", arguments: Sequence[str] = ("run",)) -> None:
        self._module = module
        self._arguments = tuple(arguments)

    def launch(self, run: ResolvedRun, folder: str) -> LaunchSpec:
        """The program goes to standard input, `input` travels with what the child inherits."""
        arguments = [*self._arguments, "-", "--json"]
        # A child's own session lies in its record, so that nothing of it lands among a person's sessions.
        arguments += ["--session", run.session or f"{folder}/session.jsonl"]
        if run.thinking is not None:
            arguments += ["--level", run.thinking]
        if run.model is not None:
            arguments += ["--model", run.model]
        if run.config_file is not None:
            arguments += ["--config", run.config_file]
        arguments += ["--timeout", f"{run.timeout_ms / 1000:g}"]
        return LaunchSpec(argv=module_argv(self._module, *arguments), stdin=(run.program or "").encode())

    def read(self, line: bytes) -> RunnerEvent | None:
        """The one JSON object that `run --json` prints."""
        try:
            printed = strict_json.decode_strict(line)
        except ValueError:
            return None
        if not isinstance(printed, dict) or "ok" not in printed:
            return None
        calls, logs, levels = (printed.get(key) for key in ("calls", "logs", "level"))
        level = levels.get("before") if isinstance(levels, dict) else None
        ok = printed["ok"] is True
        return Outcome(
            ok=ok,
            value=printed.get("value"),
            text=text_of(printed.get("value")) if ok else "",
            error=None if ok else _failure(printed.get("error")),
            usage=Usage(),
            turns=1,
            tool_calls=len(calls) if isinstance(calls, list) else 0,
            level=level if is_level(level) else None,
            logs=[str(entry) for entry in logs] if isinstance(logs, list) else [],
        )

    def message(self, kind: str, text: str) -> bytes | None:
        """A program takes none."""
        del kind, text
        return None


def _failure(error: Any) -> Failure:
    """Its words, and for a limit of its own the setting that they name."""
    try:
        named = LIMIT_SETTING.search(error["message"]) if error["kind"] == "limit" else None
        return msgspec.convert(
            {
                "kind": error["kind"],
                "message": error["message"],
                "line": error.get("line"),
                "sourceLine": error.get("source_line"),
                "limit": None if named is None else named[1],
            },
            Failure,
        )
    except (TypeError, KeyError, AttributeError, msgspec.ValidationError):
        return Failure(kind="crashed", message=f"the child failed without saying why: {error!r:.500}")
