"""Every call is recorded; what goes into a session stays bounded and still shows every ref."""

import msgspec

from host_bridge.trace import CallError, CallRecord, bounded_calls, preview_of, run_entry


def record(n, ref="a.b", ok=True, **more):
    error = None if ok else CallError(kind="host", message="m" * 9000)
    more.setdefault("risk", "read")
    return CallRecord(id=n, ref=ref, ok=ok, ms=1.23456, error=error, **more)


def test_the_brief_form_is_what_programs_read():
    assert record(1).brief() == {"ref": "a.b", "ok": True, "ms": 1.235}
    assert set(record(1, ok=False).brief()["error"]) == {"kind", "message"}


def test_the_entry_form_has_decision_sizes_and_a_preview():
    entry = record(
        1, risk="write", decision="approved", approver="person", would_block=True, args_bytes=3, args_preview="{}"
    ).entry()
    assert entry == {
        "ref": "a.b", "ok": True, "ms": 1.235, "risk": "write", "decision": "approved", "approver": "person",
        "wouldBlock": True, "argsBytes": 3, "resultBytes": 0, "args": "{}",
    }  # fmt: skip
    assert len(record(1, ok=False).entry()["error"]["message"]) == 300


def test_few_calls_are_all_kept():
    calls, omitted = bounded_calls([record(n) for n in range(200)])
    assert (len(calls), omitted) == (200, 0)


def test_many_calls_keep_every_ref_failures_and_the_latest():
    records = [record(n, ref=f"t.r{n % 20}" if n < 5000 else "t.loop", ok=n != 3333) for n in range(9000)]
    calls, omitted = bounded_calls(records)
    assert len(calls) == 200
    assert omitted == 8800
    assert {call["ref"] for call in calls} == {record.ref for record in records}
    assert sum(not call["ok"] for call in calls) == 1


def test_every_namespace_stays_whatever_was_called_before():
    records = [record(n, ref=f"a.{n}") for n in range(900)] + [record(900, ref="b.x", namespace="extension:b")]
    kept, _ = bounded_calls(records)
    assert kept[-1]["namespace"] == "extension:b"


def test_a_session_entry_is_bounded_whatever_was_called():
    records = [record(n, ref=f"t.{n}" + "x" * 300, ok=False, args_preview="p" * 160) for n in range(10_000)]
    entry = run_entry(
        run_id="r", sha256="s", kind="limit", records=records, started_at_ms=1, ms=2.0, skipped_layers=["landlock"],
        schema_mode="audit",
    )  # fmt: skip
    assert len(msgspec.json.encode(entry)) < 600_000
    assert entry["callCount"] == 10_000
    assert entry["skippedLayers"] == ["landlock"]
    assert {"version", "runId", "sha256", "kind", "calls", "startedAt", "ms", "skippedLayers"} <= entry.keys()


def test_every_call_that_enforce_would_refuse_is_counted_though_few_are_listed():
    records = [record(n, ref="pi.write", would_block=True) for n in range(900)]
    records += [record(900 + n, ref=f"m.t{n}", would_block=True) for n in range(600)] + [record(1500, ref="pi.read")]
    entry = run_entry(
        run_id="r", sha256="s", kind="done", records=records, started_at_ms=1, ms=2.0, skipped_layers=[],
        schema_mode="audit",
    )  # fmt: skip
    assert entry["wouldBlock"]["pi.write"] == 900
    assert sum(entry["wouldBlock"].values()) == 1500
    assert (len(entry["wouldBlock"]), entry["wouldBlock"]["*"]) == (501, 101)


def test_previews_are_short_safe_and_say_the_whole_size():
    assert preview_of({}) == ("{}", 2)
    assert preview_of({"a": 1}) == ('{"a":1}', 7)
    text, size = preview_of({"a": "é\u202e" * 1000})
    assert len(text) == 160
    assert "\u202e" not in text
    assert size > 5000
    assert preview_of({"n": 2**60000})[0].startswith('{"n": 0x1')
