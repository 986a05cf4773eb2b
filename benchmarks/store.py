"""One million entries: open, branch and peak memory of the store, beside a plain `json.loads` loop and Pi's own loader.

Each side runs in a process of its own on the same file, which is in the page cache. Also: what one append costs on a
short and on a long session. Pi is measured where `PI_FABRIC_TEST_NODE` and `PI_FABRIC_TEST_PI` name node and its package.
"""

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ENTRIES = 1_000_000
APPENDS = 2_000
ROUNDS = 3
ROOT = Path(__file__).parents[1]

OURS = """
import json, resource, sys, time
from runtime.transcript.store import TranscriptStore
started, cpu = time.perf_counter(), time.process_time()
store = TranscriptStore.open(sys.argv[1], read_only=True)
opened = time.perf_counter()
branch = store.branch()
ids = branch.ids
walked = time.perf_counter()
latest = store.latest_custom("pi-fabric-thinking")
print(json.dumps({"open": opened - started, "branch": walked - opened, "latest": time.perf_counter() - walked,
                  "length": len(ids), "cpu": time.process_time() - cpu, "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""
PLAIN = """
import json, resource, sys, time
started, cpu = time.perf_counter(), time.process_time()
with open(sys.argv[1], encoding="utf-8") as file:
    entries = [json.loads(line) for line in file]
by_id = {entry["id"]: entry for entry in entries[1:]}
opened = time.perf_counter()
path, entry = [], entries[-1]
while entry is not None:
    path.append(entry)
    entry = by_id.get(entry["parentId"])
walked = time.perf_counter()
print(json.dumps({"open": opened - started, "branch": walked - opened, "length": len(path), "cpu": time.process_time() - cpu,
                  "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""
PI = """
const { SessionManager } = await import(process.argv[2] + "/dist/core/session-manager.js");
const started = performance.now(), before = process.cpuUsage();
const session = SessionManager.open(process.argv[1], "/tmp");
const opened = performance.now();
const branch = session.getBranch();
const walked = performance.now(), used = process.cpuUsage(before);
console.log(JSON.stringify({open: (opened - started) / 1000, branch: (walked - opened) / 1000, length: branch.length, cpu: (used.user + used.system) / 1e6,
                            mb: process.resourceUsage().maxRSS / 1024}));
"""


def generate(path: Path, entries: int) -> None:
    """A session as a working agent leaves it: prompts, answers with usage, tool results, custom entries; about 530 bytes each."""
    rng = random.Random(7)
    words = [
        "the",
        "level",
        "of",
        "a",
        "proof",
        "step",
        "asks",
        "more",
        "than",
        "file",
        "tool",
        "result",
        "branch",
        "store",
        "line",
        "guest",
        "call",
        "agent",
        "value",
        "path",
    ]
    texts = [" ".join(rng.choice(words) for _ in range(length)) for length in range(4, 44) for _ in range(4)]
    usage = (
        '"usage":{"input":120,"output":20,"cacheRead":0,"cacheWrite":0,"reasoning":5,"totalTokens":140,"cost":{"input":0.00012,'
        '"output":0.000039999999999999996,"cacheRead":0,"cacheWrite":0,"total":0.00015999999999999999}},"stopReason":"toolUse",'
        '"timestamp":1796045761742,"responseId":"chatcmpl-1","rawStopReason":"tool_calls","durationMs":35,"thinkingLevel":"low"'
    )
    override = '{"version":1,"override":{"level":"high","scope":"turn","baseline":"low","setAt":1796045709178}}'
    parent = "null"
    with path.open("w", encoding="utf-8", buffering=1 << 20) as file:
        file.write('{"type":"session","version":3,"id":"b","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/project"}\n')
        for number in range(entries):
            entry_id = f'"{(number * 2654435761 + 12345) % 2**32:08x}"'  # scattered, and each one once
            stamp = f'"timestamp":"2026-01-01T00:00:{number % 60:02d}.{number % 1000:03d}Z"'
            envelope = f'"id":{entry_id},"parentId":{parent},{stamp}'
            text = rng.choice(texts)
            thinking = f'{{"type":"thinking","thinking":"{rng.choice(texts)}","thinkingSignature":"reasoning_content"}}'
            call = f'{{"type":"toolCall","id":"call_{number}","name":"bash","arguments":{{"command":"{text}"}}}}'
            block = f'{{"type":"text","text":"{text}"}}'
            answer = '"role":"assistant","api":"openai-completions","provider":"fake","model":"fake-r1"'
            match number % 6:
                case 0:
                    line = (
                        f'{{"type":"message",{envelope},"message":{{"role":"user","content":[{block}],"timestamp":1}}}}'
                    )
                case 1:
                    line = (
                        f'{{"type":"message",{envelope},"message":{{{answer},"content":[{thinking},{call}],{usage}}}}}'
                    )
                case 2:
                    line = (
                        f'{{"type":"message",{envelope},"message":{{"role":"toolResult","toolCallId":"call_{number - 1}",'
                        f'"toolName":"bash","content":[{block}],"details":{{"n":1,"truncated":false}},"isError":false,"timestamp":2}}}}'
                    )
                case 3:
                    line = f'{{"type":"custom","customType":"pi-fabric-thinking","data":{override},{envelope}}}'
                case 4:
                    line = (
                        f'{{"type":"message",{envelope},"message":{{{answer},"content":[{thinking},{block}],{usage}}}}}'
                    )
                case _:
                    line = f'{{"type":"custom","customType":"other","data":{{"ok":true,"calls":[{{"ref":"a.b","ms":3}}],"note":"{text}"}},{envelope}}}'
            file.write(line + "\n")
            parent = entry_id


def _measure(command: list[str]) -> dict[str, Any]:
    done = subprocess.run(command, capture_output=True, check=True, cwd=ROOT, env={**os.environ, "PI_OFFLINE": "1"})
    return json.loads(done.stdout)


def _typical(commands: dict[str, list[str]], rounds: dict[str, int]) -> dict[str, dict[str, Any]]:
    """The round of median processor time of each side; the sides take turns, so that a busy machine slows all of them."""
    samples: dict[str, list[dict[str, Any]]] = {name: [] for name in commands}
    for number in range(max(rounds.values())):
        for name, command in commands.items():
            if number < rounds[name]:
                samples[name].append(_measure(command))
    return {name: sorted(rows, key=lambda row: row["cpu"])[len(rows) // 2] for name, rows in samples.items()}


def append_seconds(path: Path) -> float:
    """Median seconds of one append of a small custom entry, without fsync."""
    from runtime.transcript.store import TranscriptStore

    samples = []
    with TranscriptStore.open(path, durability="none") as store:
        for number in range(APPENDS):
            started = time.perf_counter()
            store.append_custom("bench", {"n": number})
            samples.append(time.perf_counter() - started)
    return statistics.median(samples)


def main(entries: int = ENTRIES) -> dict[str, Any]:
    """Measure, print the table, return the figures."""
    node, pi = os.environ.get("PI_FABRIC_TEST_NODE") or shutil.which("node"), os.environ.get("PI_FABRIC_TEST_PI")
    with tempfile.TemporaryDirectory() as folder:
        long, short = Path(folder) / "long.jsonl", Path(folder) / "short.jsonl"
        generate(long, entries)
        generate(short, 10)
        size = long.stat().st_size
        commands = {
            "store": [sys.executable, "-c", OURS, str(long)],
            "json.loads loop": [sys.executable, "-c", PLAIN, str(long)],
        }
        if node and pi:
            commands["Pi 1.6"] = [node, "--input-type=module", "-e", PI, str(long), pi]
        rows = _typical(commands, {name: 1 if name == "json.loads loop" else ROUNDS for name in commands})
        appends = {"short": append_seconds(short), "long": append_seconds(long)}
    print(f"{entries:,} entries, {size / 1e6:.0f} MB, {size / entries:.0f} bytes an entry")
    print(f"{'':18}{'open s':>9}{'branch s':>10}{'cpu s':>8}{'peak MB':>9}")
    for name, row in rows.items():
        print(f"{name:18}{row['open']:9.2f}{row['branch']:10.2f}{row['cpu']:8.2f}{row['mb']:9.0f}")
    print(f"latest entry of a kind from the leaf: {rows['store']['latest'] * 1e6:.0f} us")
    if "Pi 1.6" in rows:
        ours, theirs = rows["store"], rows["Pi 1.6"]
        ratio = (ours["open"] + ours["branch"]) / (theirs["open"] + theirs["branch"])
        print(
            f"against Pi: {ratio:.2f} of its time ({ours['cpu'] / theirs['cpu']:.2f} of its cpu), {ours['mb'] / theirs['mb']:.2f} of its memory"
        )
    print(f"one append: {appends['short'] * 1e6:.0f} us on 10 entries, {appends['long'] * 1e6:.0f} us on {entries:,}")
    return {"entries": entries, "bytes": size, "rows": rows, "append_seconds": appends}


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ENTRIES)
