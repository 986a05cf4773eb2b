"""How good the hints are: precision and recall on real MCP catalogs and labelled prompts, and what each miss is due to.

Data: 25 servers with 655 tools and 102 prompts, each labelled with the servers that would help (several may; none may).
Servers are connected 3, 10 or 25 at a time; so that no choice of servers decides, the 3 and 10 run over all 25 windows of
neighbours in the list. A prompt counts once: *wanted* if a connected server would help, *hinted* if any hint came,
*right* if a hinted server was among the wanted. Recall = right / wanted, precision = right / hinted. Each prompt meets a
fresh advisor with the default settings.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.advisor.advisor import AdvisorState, end_turn
from runtime.advisor.explain import explain
from runtime.advisor.scenarios import Machine
from runtime.advisor.settings import AdvisorySettings

DATA = Path(__file__).parent / "data"
SETTINGS = AdvisorySettings()
SIZES = (3, 10, 25)
REPEATS = (1, 2, 4)


@dataclass(frozen=True)
class Prompt:
    id: str
    kind: str
    text: str
    relevant: frozenset[str]


def catalog(*, server_prefix: bool = True) -> list[dict[str, Any]]:
    """The tools, named as a host lists them (`server.tool`) or bare."""
    tools = json.loads((DATA / "mcp-catalogs.json").read_text(encoding="utf-8"))
    if server_prefix:
        for tool in tools:
            tool["name"] = f"{tool['namespace'].removeprefix('mcp:').replace('-', '_')}.{tool['name']}"
    return tools


def prompts() -> list[Prompt]:
    lines = (DATA / "prompts.jsonl").read_text(encoding="utf-8").splitlines()
    return [Prompt(one["id"], one["kind"], one["text"], frozenset(one["relevant"])) for one in map(json.loads, lines)]


def windows(servers: Sequence[str], size: int) -> list[frozenset[str]]:
    """Every run of `size` neighbours, around the end; one if that is all of them."""
    if size >= len(servers):
        return [frozenset(servers)]
    return [frozenset((*servers, *servers)[start : start + size]) for start in range(len(servers))]


def hinted_by_turn(machine: Machine, text: str, most: int) -> list[set[str]]:
    """What a fresh advisor has hinted after each of `most` identical prompts."""
    machine.state = AdvisorState()
    so_far: set[str] = set()
    by_turn = []
    for _ in range(most):
        hint = machine.prompt(text, SETTINGS)
        machine.state = end_turn(machine.state)
        if hint is not None:
            so_far |= set(hint.namespaces)
        by_turn.append(set(so_far))
    return by_turn


def measure(tools: Sequence[dict[str, Any]], size: int) -> dict[int, Counter[str]]:
    """Counts of wanted, hinted and right after each number of identical prompts."""
    servers = list(dict.fromkeys(tool["namespace"] for tool in tools))
    counts: dict[int, Counter[str]] = {turns: Counter() for turns in REPEATS}
    for connected in windows(servers, size):
        machine = Machine([tool for tool in tools if tool["namespace"] in connected])
        for prompt in prompts():
            wanted = prompt.relevant & connected
            by_turn = hinted_by_turn(machine, prompt.text, max(REPEATS))
            for turns in REPEATS:
                hinted = by_turn[turns - 1]
                counts[turns].update(wanted=bool(wanted), hinted=bool(hinted), right=bool(hinted & wanted))
    return counts


def rate(counts: Counter[str]) -> dict[str, float]:
    return {
        "recall": round(counts["right"] / max(1, counts["wanted"]), 2),
        "precision": round(counts["right"] / max(1, counts["hinted"]), 2),
    }


def misses(tools: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    """Every prompt that went wrong on its first turn with all servers connected, and why."""
    machine = Machine(list(tools))
    found = []
    for prompt in prompts():
        explained = explain(AdvisorState(), machine.index, prompt.text, SETTINGS)
        hint = explained.decision.hint
        hinted = set() if hint is None else set(hint.namespaces)
        if hinted and not hinted & prompt.relevant:
            fired = next(source for source in explained.sources if source.fires)
            words = " ".join(word.word for word in fired.words)
            found.append(
                {
                    "id": prompt.id,
                    "kind": prompt.kind,
                    "miss": "wrong hint",
                    "why": f"{fired.namespace} by {fired.lane}: {words}",
                }
            )
        elif prompt.relevant and not hinted:
            best = next((source for source in explained.sources if source.namespace in prompt.relevant), None)
            why = (
                "no word in common"
                if best is None
                else f"{best.namespace}: {best.blocked_by} (raw {best.raw_score:.2f})"
            )
            found.append({"id": prompt.id, "kind": prompt.kind, "miss": "no hint", "why": why})
    return found


def scripts(tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The multi-turn scripts: what was hinted turn by turn, beside what was wanted."""
    told = []
    for line in (DATA / "prompt-sessions.jsonl").read_text(encoding="utf-8").splitlines():
        script = json.loads(line)
        machine = Machine(list(tools))
        before: list[AdvisorState] = []
        turns = []
        for turn in script["turns"]:
            if "navigate_to_before_turn" in turn:
                left = before[turn["navigate_to_before_turn"] - 1]
                machine.state = AdvisorState(ash=left.ash, echoes=left.echoes, spent_hints=left.spent_hints)
                continue
            before.append(machine.state)
            hint = machine.prompt(turn["text"], SETTINGS)
            if turn.get("tool_used_after"):
                machine.tool_use(turn["tool_used_after"])
            machine.state = end_turn(machine.state)
            turns.append({"hinted": [] if hint is None else list(hint.namespaces), "wanted": turn["relevant"]})
        told.append({"id": script["id"], "why": script["why"], "turns": turns})
    return told


def _groups(items: Iterable[dict[str, str]]) -> dict[str, int]:
    """How many misses there are of each sort."""
    sorts = Counter()
    for item in items:
        why = item["why"]
        sort = (
            "no word in common"
            if why == "no word in common"
            else "raw score below the threshold"
            if "raw score" in why
            else "warm, not hot"
            if "heat" in why
            else "single word"
            if "single word" in why
            else item["miss"]
        )
        sorts[f"{item['miss']}: {sort}" if item["miss"] == "no hint" else f"wrong hint on a {item['kind']} prompt"] += 1
    return dict(sorts.most_common())


def main() -> dict:
    result: dict[str, Any] = {"servers": {}, "bareNames": {}}
    for key, prefix in (("servers", True), ("bareNames", False)):
        tools = catalog(server_prefix=prefix)
        print("tools named server.tool" if prefix else "bare tool names")
        print(f"{'servers':>8}" + "".join(f"{'after ' + str(turns):>26}" for turns in REPEATS))
        for size in SIZES:
            counts = measure(tools, size)
            rates = {turns: rate(counts[turns]) for turns in REPEATS}
            result[key][str(size)] = {str(turns): {**rates[turns], **counts[turns]} for turns in REPEATS}
            cells = [f"recall {one['recall']:.2f} prec. {one['precision']:.2f}" for one in rates.values()]
            print(f"{size:>8}" + "".join(f"{cell:>26}" for cell in cells))
    tools = catalog()
    result["misses"] = misses(tools)
    result["missesBySort"] = _groups(result["misses"])
    print("\nmisses on the first turn, 25 servers:")
    for sort, number in result["missesBySort"].items():
        print(f"  {number:>3}  {sort}")
    result["scripts"] = scripts(tools)
    for script in result["scripts"]:
        print(f"\n{script['id']}: {script['why']}")
        for number, turn in enumerate(script["turns"], 1):
            print(f"  {number}. hinted {', '.join(turn['hinted']) or '-'}   wanted {', '.join(turn['wanted']) or '-'}")
    return result
