"""The examples about tools do what their headers say you will see."""

import subprocess
from pathlib import Path

from tests.examples.test_examples import python


def test_the_report_finds_its_tools_and_names_a_wrong_argument(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    for command in (
        ["init", "-q", "-b", "main"],
        ["-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-q", "--allow-empty", "-m", "The only commit"],
    ):
        subprocess.run(["git", *command], cwd=repository, check=True)
    out = python("mcp_report.py", tmp_path, str(repository))
    assert '"found": "mcp.git.git_log"' in out
    assert "The only commit" in out
    assert "repo_pth: got" in out
    assert "did you mean 'repo_path'?" in out
    assert '"git: ready, 12 tools"' in out
    assert "mcp.time.get_current_time ok after" in out


def test_one_question_covers_all_edits_and_nothing_else_happens(tmp_path: Path) -> None:
    out = python("approved_edit.py", tmp_path)
    questions = [line for line in out.splitlines() if line.startswith("asked:")]
    assert len(questions) == 2
    assert questions[0].startswith("asked: pi.edit (risk write), 3 waiting, for example {'path': 'note")
    assert out.count("after: note") == 3
    assert "after: note2.txt: 2. The color of note 2." in out
    assert "rejected: pi.edit: edits[0].oldText does not stand in note1.txt" in out
    assert "denied: pi.read: '../outside.txt' leads out of the project" in out
    assert "denied: pi.bash (risk execute) was denied by the person asked" in out
