"""`pi-fabric advise`: explanations as text and JSON, a session's last prompt, and pictures."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner

from runtime.advisor.fingerprint import Fingerprint
from runtime.advisor.history import walk
from runtime.advisor.replay import HINT_TYPE
from runtime.advisor.scenarios import catalog_tools
from runtime.commands.advise import command
from runtime.transcript.store import TranscriptStore
from tests.runtime.advisor.live import SETTINGS, live_catalog


@pytest.fixture
def here(tmp_path: Path, monkeypatch) -> Path:
    """A folder with a catalog and no configuration."""
    (tmp_path / "catalog.json").write_text(json.dumps(live_catalog()))
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def advise(*args: str, typed: str | None = None, code: int = 0) -> str:
    result = CliRunner().invoke(command, [*args], input=typed)
    assert result.exit_code == code, result.output
    return result.output


def session(path: Path, *prompts: str, recorded: bool = False) -> None:
    with TranscriptStore.create(path) as store:
        for prompt in prompts:
            store.append_message({"role": "user", "content": prompt})
            if recorded and prompt.startswith("check"):
                store.append_custom_message(
                    HINT_TYPE,
                    "mcp:fal-ai · 11 tools matched your prompt.",
                    display=True,
                    details={"matches": [{"namespace": "mcp:fal-ai"}]},
                )
            store.append_message({"role": "assistant", "content": [{"type": "text", "text": "ok"}]})


def test_a_prompt_that_fires_is_explained_as_json(here):
    out = json.loads(advise("--catalog", "catalog.json", "--json", "check the status of my fal job"))
    assert out["hint"]["content"].startswith("mcp:fal-ai · 11 tools matched your prompt.")
    assert out["hint"]["matches"][0]["namespace"] == "mcp:fal-ai"
    first = out["sources"][0]
    assert (first["namespace"], first["fires"], first["lane"], first["surface"]) == (
        "mcp:fal-ai",
        True,
        "strong",
        "fal_ai.check_job",
    )
    assert first["words"][0] == {
        "word": "check",
        "position": 0,
        "readings": ["check"],
        "term": "check",
        "df": 1,
        "pathFactor": 1.0,
        "episodes": 0,
        "weight": 1.0,
    }


def test_a_silent_prompt_says_what_blocked_each_source(here):
    out = json.loads(advise("--catalog", "catalog.json", "--json", "-", typed="show rows with totals in src/clips.ts"))
    assert out["hint"] is None
    by_name = {one["namespace"]: one for one in out["sources"]}
    ledger = by_name["extension:pi-ledger"]
    assert (ledger["lane"], ledger["heatBefore"], ledger["heatAfter"]) == ("weak", 0.0, 0.75)
    assert ledger["blockedBy"] == "heat 0.75 below the fire point 0.9"
    assert "clips" in out["pathOnlyTerms"]
    text = advise("--catalog", "catalog.json", "show rows with totals in src/clips.ts")
    assert "No hint: no source fires." in text
    assert "path x0.5" in text


def test_options_override_the_configuration_within_its_limits(here):
    assert (
        json.loads(advise("--catalog", "catalog.json", "--threshold", "0.5", "--json", "query rows"))["hint"]
        is not None
    )
    assert "capture.advisory.threshold" in advise("--catalog", "catalog.json", "--threshold", "-1", "x", code=2)
    (here / "agent").mkdir()
    (here / "agent" / "fabric.json").write_text('{"capture": {"advisory": {"mode": "disabled"}}}')
    out = json.loads(advise("--catalog", "catalog.json", "--json", "check the status of my fal job"))
    assert (out["hint"], out["silence"]) == (None, "disabled")
    assert out["sources"][0]["blockedBy"] == "the mode is disabled (capture.advisory.mode)"


def test_a_session_counts_with_its_ash_and_spent_hints(here):
    session(here / "s.jsonl", "check the status of my fal job", recorded=True)
    out = json.loads(advise("--catalog", "catalog.json", "--session", "s.jsonl", "--json", "check the job status"))
    assert out["hint"] is None
    assert out["spentHints"] == 1
    assert out["sources"][0]["blockedBy"].startswith("burned: a hint named it before") or any(
        "burned" in (one["blockedBy"] or "") for one in out["sources"]
    )


def test_the_last_prompt_of_a_session_is_explained_with_the_heat_it_met(here):
    session(here / "s.jsonl", "show rows with totals please", "show rows with totals again")
    out = json.loads(advise("--catalog", "catalog.json", "--session", "s.jsonl", "--explain", "--json"))
    ledger = out["sources"][0]
    assert [ledger[key] for key in ("heatBefore", "heatCooled", "heatAfter", "fires")] == [0.75, 0.375, 1.125, True]
    text = advise("--catalog", "catalog.json", "--session", "s.jsonl", "--explain")
    assert "heat 0.75 -> 1.125 (0.375 after cooling)" in text
    assert "last prompt: show rows with totals again" in advise(
        "--catalog", "catalog.json", "--session", "s.jsonl", "--explain"
    )


def test_recorded_hints_are_what_fired(here):
    session(here / "s.jsonl", "check the status of my fal job", "send or draft mail messages", recorded=True)
    index = Fingerprint()
    index.set_slice("a", catalog_tools(live_catalog()))
    with TranscriptStore.open(here / "s.jsonl", read_only=True) as store:
        turns, state = walk([one.fields for one in store.branch()], index, SETTINGS, namespaces_of_tool=lambda _: None)
    assert [(turn.fired, turn.register) for turn in turns] == [(("mcp:fal-ai",), "matched"), ((), None)]
    assert state.smoke.streak == 1  # two turn ends without a call


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "a catalog is a list"),
        ("[3]", "$[0] is no object"),
        ('[{"name": 3}]', "$[0] needs a name"),
        ("[", "no JSON"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_a_file_that_is_no_catalog_is_refused(here, text, said):
    (here / "bad.json").write_text(text)
    assert said in advise("--catalog", "bad.json", "x", code=2)


def test_a_missing_session_and_a_misuse_are_refused(here):
    assert "none.jsonl" in advise("--catalog", "catalog.json", "--session", "none.jsonl", "x", code=2)
    assert "--explain takes --session" in advise("--catalog", "catalog.json", "--explain", "x", code=2)
    assert "either --session FILE or --prompts FILE" in advise("plot", "--catalog", "catalog.json", code=2)


@pytest.mark.parametrize("suffix", ["svg", "html", "png"])
def test_a_session_is_drawn(here, suffix):
    session(
        here / "s.jsonl",
        "show rows with totals please",
        "query rows",
        "check the status of my fal job",
        "请用 fal 画 $x$ <b>",
        "refactor",
    )
    out = advise("plot", "--catalog", "catalog.json", "--session", "s.jsonl", "-o", f"heat.{suffix}")
    assert out == f"heat.{suffix}: 5 turns, 2 hints\n"
    data = (here / f"heat.{suffix}").read_bytes()
    if suffix == "png":
        assert data.startswith(b"\x89PNG")
        return
    text = data.decode()
    for expected in ("fire point", "pi-ledger", "mcp:fal-ai", "burned by a hint"):
        assert expected in text
    if suffix == "svg":
        assert ET.fromstring(text).tag.endswith("svg")
    else:
        assert "<b>" not in text.replace("&lt;b&gt;", "")
        assert "might match: extension:pi-ledger" in text


def test_prompts_of_a_file_are_drawn_and_another_suffix_is_refused(here):
    (here / "prompts.txt").write_text("\n".join(["query rows", "refactor"] * 20))
    assert advise("plot", "--catalog", "catalog.json", "--prompts", "prompts.txt", "-o", "x.svg").startswith(
        "x.svg: 40 turns, "
    )
    assert ".svg, .html, .png" in advise(
        "plot", "--catalog", "catalog.json", "--prompts", "prompts.txt", "-o", "x.gif", code=2
    )


def test_the_same_session_gives_the_same_picture(here):
    session(here / "s.jsonl", "query rows", "query rows")
    for name in ("a.svg", "b.svg"):
        advise("plot", "--catalog", "catalog.json", "--session", "s.jsonl", "-o", name)
    assert (here / "a.svg").read_bytes() == (here / "b.svg").read_bytes()


def test_a_session_without_a_prompt_is_refused_alike_by_every_command(here):
    session(here / "s.jsonl")
    said = f"pi-fabric advise: {here / 's.jsonl'}: no prompt on the active branch\n"
    assert advise("--catalog", "catalog.json", "--session", str(here / "s.jsonl"), "--explain", code=2) == said
    said = "pi-fabric advise: no prompt to draw\n"
    assert advise("plot", "--catalog", "catalog.json", "--session", "s.jsonl", code=2) == said


def test_names_with_formula_and_control_characters_are_drawn_as_text(here):
    tools = [{"namespace": "mcp:$\\frac{$", "name": "a", "description": "anvil bellows hammer \x1b"}]
    (here / "odd.json").write_text(json.dumps(tools))
    (here / "prompts.txt").write_text("anvil bellows hammer $\\sqrt{$ \x1b[31m\x00\n")
    for suffix in ("svg", "html", "png"):
        advise(
            "plot", "--catalog", "odd.json", "--prompts", "prompts.txt", "--title", "a \x07 $x_{$", "-o", f"x.{suffix}"
        )
    assert ET.parse(here / "x.svg").getroot().tag.endswith("svg")
    assert not set((here / "x.html").read_text()) & set("\x00\x07\x1b")


def test_a_catalog_cannot_steer_the_terminal(here):
    tools = [{"namespace": "mcp:x\x1b[2J", "name": "a\u202e", "description": "anvil bellows hammer"}]
    (here / "odd.json").write_text(json.dumps(tools))
    out = CliRunner().invoke(command, ["--catalog", "odd.json", "anvil bellows hammer"], color=True).output
    assert not set(out) & {"\x1b", "\u202e"}
    assert r"mcp:x\u001b[2J" in out or r"mcp:x\x1b[2J" in out


def test_the_help_tells_of_the_picture(here):
    out = advise("--help")
    assert "advise plot" in out
    assert "Usage: advise [OPTIONS] [PROMPT]" in CliRunner().invoke(command, ["--help"], prog_name="advise").output
