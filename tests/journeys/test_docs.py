"""What the documentation shows works: snippets run as they stand, links lead somewhere, listed options exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from runtime import action, open_host
from tests.journeys.command import ROOT, Desk
from tests.journeys.test_help import FOUND

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("**/*.md"))]


def snippets(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


async def test_the_first_program_of_the_readme_runs() -> None:
    @action(ref="weather.lookup", risk="read")
    async def lookup(city: str) -> dict[str, object]:
        """The weather of a city."""
        return {"city": city, "celsius": len(city)}

    async with open_host(actions=[lookup], allow=["write"]) as host:
        result = await host.run_program(snippets("README.md")[0], {"cities": ["Rome", "Lisbon", "Oslo"]})
    assert result.value == {"warmest": {"city": "Lisbon", "celsius": 6}}


@pytest.mark.parametrize(
    ("page", "printed"), [("README.md", "{'city': 'Lisbon', 'celsius': 21}\n"), ("docs/tools.md", "1\n")]
)
def test_the_embedding_snippets_run_as_scripts(desk: Desk, page: str, printed: str) -> None:
    script = next(text for text in snippets(page) if "trio.run" in text)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=desk.folder, env=desk.environment, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == (printed, "")


def test_the_thinking_page_runs(desk: Desk) -> None:
    ended = desk.run(snippets("docs/thinking.md")[0] + "\nreturn before.level", "--allow", "write")
    assert ended.json["value"] == "medium"


def test_the_children_page_runs(desk: Desk) -> None:
    desk.write("src/app.py", "# TODO one\n# TODO two\n")
    ended = desk.run(snippets("docs/children.md")[0], "--allow", "agent")
    assert ended.json["error"] is None
    assert ended.json["logs"] == ["completed 2 medium high"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_reference_lists_exactly_the_options_of_run() -> None:
    text = (ROOT / "docs" / "reference" / "cli.md").read_text().partition("### What is printed")[0]
    listed = set(re.findall(r"`(--?[a-z-]+)", text)) - {"--help"}
    options = {name for one in FOUND["pi-fabric", "run"].params for name in (*one.opts, *one.secondary_opts)}
    assert listed == {name for name in options if name.startswith("-")} - {"--quiet"}
