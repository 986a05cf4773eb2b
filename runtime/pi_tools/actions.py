"""The seven `pi.*` actions, with the argument shapes of Pi's own tools; each handler is one call into its own file."""

from collections.abc import Mapping
from os import environ
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import trio

from host_bridge.actions import action
from host_bridge.descriptor import Action, CallContext, Effect
from host_bridge.results import ResultFolders
from runtime.pi_tools import files as file_tools
from runtime.pi_tools.confined import Project
from runtime.pi_tools.editing import Replacement
from runtime.pi_tools.searching import FIND_LIMIT, GREP_LIMIT, search
from runtime.pi_tools.shell import LONGEST_SECONDS, run_command, shell_environment

SOURCE: Final = "pi"
Text = Annotated[str, msgspec.Meta(max_length=10_000)]
Line = Annotated[int, msgspec.Meta(ge=1)]


class _Arguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A Pi tool's arguments."""


class Read(_Arguments, frozen=True):
    """`pi.read`."""

    path: Text
    offset: Line | None = None
    """First line, from 1."""
    limit: Line | None = None
    """How many lines."""


class Grep(_Arguments, frozen=True):
    """`pi.grep`."""

    pattern: Text
    path: Text | None = None
    glob: Text | None = None
    ignore_case: bool = False
    literal: bool = False
    context: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = GREP_LIMIT


class Find(_Arguments, frozen=True):
    """`pi.find`."""

    pattern: Text
    path: Text | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = FIND_LIMIT


class Ls(_Arguments, frozen=True):
    """`pi.ls`."""

    path: Text | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = file_tools.LIST_LIMIT


class Write(_Arguments, frozen=True):
    """`pi.write`."""

    path: Text
    content: str


class Edit(_Arguments, frozen=True):
    """`pi.edit`: `edits`, or one `oldText` and `newText`."""

    path: Text
    edits: list[Replacement] | Replacement | None = None
    old_text: str | None = None
    new_text: str | None = None

    def __post_init__(self) -> None:
        """One of the two forms, whole."""
        single = self.old_text is not None or self.new_text is not None
        if single and (self.old_text is None or self.new_text is None):
            raise ValueError("oldText and newText together")
        if single == (self.edits is not None):
            raise ValueError("either edits, or one oldText with newText")

    def replacements(self) -> list[Replacement]:
        """All of them, whichever form was used."""
        if self.old_text is not None and self.new_text is not None:
            return [Replacement(old_text=self.old_text, new_text=self.new_text)]
        return self.edits if isinstance(self.edits, list) else [self.edits] if self.edits is not None else []


class Bash(_Arguments, frozen=True):
    """`pi.bash`."""

    command: Annotated[str, msgspec.Meta(max_length=100_000)]
    timeout: Annotated[float, msgspec.Meta(gt=0, le=LONGEST_SECONDS)] | None = None
    """Seconds."""
    settle: bool = False
    """True: a command that fails is a result with `ok` False and its `exitCode`."""


def pi_actions(
    project: Project, results: ResultFolders, *, environment: Mapping[str, str] | None = None
) -> list[Action]:
    """The source `pi` for one project folder. `environment`: of commands; None: the host's without its secrets."""
    changes = Effect(kind="file", resources=("project.files",), ordering="serial")

    @action(ref="pi.read", risk="read")
    async def read(arguments: Read) -> Any:
        """Read a text file of the project, whole or `limit` lines from line `offset`; an image comes as base64."""
        return await _in_thread(file_tools.read, project, arguments.path, arguments.offset, arguments.limit)

    @action(ref="pi.grep", risk="read")
    async def grep(arguments: Grep) -> str:
        """Search file contents; `path:line: text` a match. Respects .gitignore. Empty when nothing matches."""
        return await search(
            project,
            "grep",
            {
                "pattern": arguments.pattern,
                "path": arguments.path,
                "glob": arguments.glob,
                "ignoreCase": arguments.ignore_case,
                "literal": arguments.literal,
                "context": arguments.context,
                "limit": arguments.limit,
            },
            more_hint="matches, there are more; raise limit",
        )

    @action(ref="pi.find", risk="read")
    async def find(arguments: Find) -> str:
        """Find files by glob; one path a line, relative to `path`. Respects .gitignore. Empty when nothing matches."""
        request = {"pattern": arguments.pattern, "path": arguments.path, "limit": arguments.limit}
        return await search(project, "find", request, more_hint="paths, there are more; raise limit")

    @action(ref="pi.ls", risk="read")
    async def ls(arguments: Ls) -> str:
        """List a folder, one name a line, folders with a slash. Empty for an empty folder."""
        return str(await _in_thread(file_tools.listing, project, arguments.path or ".", arguments.limit))

    @action(ref="pi.write", risk="write", effect=changes)
    async def write(arguments: Write) -> dict[str, Any]:
        """Create or overwrite a file of the project, with the folders above it."""
        return dict(await _in_thread(file_tools.write, project, arguments.path, arguments.content))

    @action(ref="pi.edit", risk="write", effect=changes)
    async def edit(arguments: Edit) -> dict[str, Any]:
        """Replace exact, unique texts of a file; all edits match the original, and all are made or none."""
        return dict(await _in_thread(file_tools.edit, project, arguments.path, arguments.replacements()))

    @action(ref="pi.bash", risk="execute", effect=Effect(kind="process", resources=("project",)))
    async def bash(arguments: Bash, context: CallContext) -> dict[str, Any]:
        """Run a shell command in the project's folder: output and exit code. Fails on a non-zero exit unless settle."""
        return await run_command(
            arguments.command,
            folder=project.root,
            environment=shell_environment(environ) if environment is None else environment,
            timeout_seconds=arguments.timeout,
            settle=arguments.settle,
            files=results.of(context.run_id),
        )

    return [read, grep, find, ls, write, edit, bash]


async def _in_thread(function: Any, *arguments: Any) -> Any:
    # Not abandoned on cancel: a write that was begun is finished, and its outcome known, before the call is over.
    return await trio.to_thread.run_sync(function, *arguments)


def project_of(folder: Path, *, outside: bool = False) -> Project:
    """The project that `pi.*` works in."""
    return Project(folder, outside=outside)
