"""The example about children does what its header says you will see."""

from pathlib import Path

from tests.examples.test_examples import EXAMPLES
from tests.journeys.command import Desk


def test_children_fan_out_over_a_real_folder_with_narrowed_bounds(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    notes = desk.folder / "notes"
    (notes / "old").mkdir(parents=True)
    (notes / "short.md").write_text("three short words\n")
    (notes / "long.md").write_text("word " * 3000)
    (notes / "old" / "README.md").write_text("two words\n")
    (notes / "skipped.txt").write_text("not asked for\n")
    ended = desk.command(
        "run",
        str(EXAMPLES / "narrowed_children.py"),
        "--allow",
        "agent",
        "--json",
        "--no-session",
        "--input",
        '{"folder": "notes"}',
    ).json
    assert ended["error"] is None
    assert ended["value"]["files"] == {"short.md": 3, "long.md": 3000, "README.md": 2}
    assert "agents.maxDepth" in ended["value"]["refused"]
    assert "long.md: 3000 words at medium (asked for xhigh)" in ended["logs"]
    assert "short.md: 3 words at low" in ended["logs"]
