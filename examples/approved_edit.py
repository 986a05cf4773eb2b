"""A program that edits files of a project, and a person who is asked once for the lot.

    python examples/approved_edit.py

You will see: the files before, one question that covers all edits (ref, count, a sample of the arguments), the files
after, an edit that does not fit refused with nothing changed, a path outside the project denied, and a shell command
denied because nobody allowed the class `execute`.
"""

import tempfile
from pathlib import Path

import trio

from runtime import Answer, ApprovalRequest, open_host

PROGRAM = """
notes = (await pi.find(pattern="*.txt")).splitlines()
edits = await asyncio.gather(
    *[pi.edit(path=name, edits=[{"oldText": "colour", "newText": "color"}]) for name in notes]
)
refused = []
for attempt in (
    pi.edit(path=notes[0], edits=[{"oldText": "no such text", "newText": "x"}]),
    pi.read(path="../outside.txt"),
    pi.bash(command="rm -rf ."),
):
    try:
        await attempt
    except ActionError as error:
        refused.append(f"{error.kind}: {error}")
return {"edited": len(edits), "refused": refused}
"""


async def approve(request: ApprovalRequest) -> Answer:
    """Stand in for a person: changes of files are fine, for as long as this host lives."""
    print(f"asked: {request.ref} (risk {request.risk}), {request.count} waiting, for example {request.arguments}")
    return "session" if request.ref == "pi.edit" else "deny"


async def main() -> None:
    """Make a small project, run the program on it, show what became of it."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        project.mkdir()
        (Path(folder) / "outside.txt").write_text("not yours")
        for number in range(1, 4):
            (project / f"note{number}.txt").write_text(f"{number}. The colour of note {number}.\n")
        show("before", project)
        async with open_host(approver=approve, cwd=project) as host:
            result = await host.run_program(PROGRAM)
        show("after", project)
        print(*(result.value["refused"] if result.ok else [result.error]), sep="\n")


def show(when: str, project: Path) -> None:
    """The first line of every note."""
    for note in sorted(project.glob("*.txt")):
        print(f"{when}: {note.name}: {note.read_text().strip()}")


if __name__ == "__main__":
    trio.run(main)
