"""What happened to every call of a run: typed records, and their bounded form for the session; it judges nothing."""

from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec

from guest_api.errors import RefusalKind
from host_bridge.descriptor import Risk
from host_bridge.neutral_text import arguments_text, neutralise

_json_encoder: Final = msgspec.json.Encoder()
PREVIEW_CHARACTERS: Final = 160
SESSION_CALLS: Final = 200
"""Calls that a session entry lists; the first of every ref is always among them."""
SESSION_REFS: Final = 500
"""More different refs than that are not kept for their own sake."""
REF_CHARACTERS: Final = 256
MESSAGE_CHARACTERS: Final = 300

Decision: TypeAlias = Literal["allowed", "approved", "denied", "blocked", "rejected", "limited"]
"""`allowed` by policy, `approved` by a person or classifier, `denied` by either, `blocked` by Schema mode,
`rejected` before any policy, `limited` by a budget of the run."""


class CallError(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Why a call did not succeed."""

    kind: RefusalKind
    message: str


class CallRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One host call, complete. A Struct, and none of the collector's, because a run may keep ten thousand."""

    id: int
    ref: str
    ok: bool
    ms: float
    """From the call's arrival to its reply, waiting for a person included."""
    error: CallError | None = None
    risk: Risk | None = None
    """None: the ref is no action."""
    namespace: str | None = None
    """The advisor's source that the action belongs to."""
    decision: Decision = "allowed"
    approver: str | None = None
    """Who or what decided: `approvals.read = allow`, `--allow write`, `person`, `classifier`."""
    would_block: bool = False
    """Schema mode audit let through what enforce would refuse."""
    args_bytes: int = 0
    result_bytes: int = 0
    args_preview: str = ""
    """The arguments as JSON, shortened and safe to show."""

    def brief(self) -> dict[str, Any]:
        """The form of `--json` and of failure reports: `{ref, ok, ms, error?}`."""
        brief: dict[str, Any] = {"ref": self.ref, "ok": self.ok, "ms": round(self.ms, 3)}
        if self.error is not None:
            brief["error"] = {"kind": self.error.kind, "message": self.error.message}
        return brief

    def entry(self) -> dict[str, Any]:
        """The form of a session entry: the brief one, with decision, sizes and the arguments' beginning."""
        entry = self.brief()
        entry["ref"] = self.ref[:REF_CHARACTERS]
        if self.error is not None:
            entry["error"]["message"] = self.error.message[:MESSAGE_CHARACTERS]
        if self.risk is not None:
            entry["risk"] = self.risk
        if self.namespace is not None:
            entry["namespace"] = self.namespace
        entry["decision"] = self.decision
        if self.approver is not None:
            entry["approver"] = self.approver[:REF_CHARACTERS]
        if self.would_block:
            entry["wouldBlock"] = True
        entry["argsBytes"] = self.args_bytes
        entry["resultBytes"] = self.result_bytes
        if self.args_preview:
            entry["args"] = self.args_preview
        return entry


def preview_of(arguments: Any) -> tuple[str, int]:
    """The beginning of the arguments as JSON, safe to show, and how many bytes the whole of it has."""
    if not arguments and type(arguments) is dict:
        return "{}", 2
    try:
        data = _json_encoder.encode(arguments)
    except (TypeError, ValueError, RecursionError, OverflowError):
        # Integers past the interpreter's limit for decimal text.
        text = arguments_text(arguments)
        return _shortened(text), len(text.encode())
    # UTF-8 cut anywhere loses at most its last character.
    return _shortened(neutralise(data[: PREVIEW_CHARACTERS * 4].decode("utf-8", "ignore"))), len(data)


def _shortened(text: str) -> str:
    return text if len(text) <= PREVIEW_CHARACTERS else text[: PREVIEW_CHARACTERS - 1] + "…"


def bounded_calls(records: Sequence[CallRecord], *, most: int = SESSION_CALLS) -> tuple[list[dict[str, Any]], int]:
    """The calls for a session entry, in order, and how many were left out.

    The first call of every namespace and of every ref stays (replay sees what was called), then failures and
    `would_block`, then the latest.
    """
    if len(records) <= most:
        return [record.entry() for record in records], 0
    first: dict[str, int] = {}
    sources: dict[str, int] = {}
    for index, record in enumerate(records):
        if record.risk is not None:  # a ref that is no action tells replay nothing
            first.setdefault(record.ref, index)
            if record.namespace is not None:
                sources.setdefault(record.namespace, index)
    kept = {*sources.values(), *list(first.values())[: max(most, SESSION_REFS)]}
    notable = [index for index, record in enumerate(records) if not record.ok or record.would_block]
    for index in (*notable, *range(len(records) - 1, -1, -1)):
        if len(kept) >= most:
            break
        kept.add(index)
    return [records[index].entry() for index in sorted(kept)], len(records) - len(kept)


def would_block_counts(records: Sequence[CallRecord]) -> dict[str, int]:
    """How many calls of each ref an audit let through that enforce would refuse: all of them, listed or not.

    Past `SESSION_REFS` different refs the rest is counted together, under `*`.
    """
    counts: dict[str, int] = {}
    for record in records:
        if record.would_block:
            ref = record.ref[:REF_CHARACTERS]
            key = ref if ref in counts or len(counts) < SESSION_REFS else "*"
            counts[key] = counts.get(key, 0) + 1
    return counts


def run_entry(
    *,
    run_id: str,
    sha256: str,
    kind: str,
    records: Sequence[CallRecord],
    started_at_ms: int,
    ms: float,
    skipped_layers: Sequence[str],
    schema_mode: str = "off",
) -> dict[str, Any]:
    """The data of a `pi-fabric-run` entry: bounded whatever the program called.

    `kind` is `done` or the run's error kind; `sha256` is of the program's source.
    """
    calls, omitted = bounded_calls(records)
    blocked = would_block_counts(records)
    return {
        "version": 1,
        "runId": run_id,
        "sha256": sha256,
        "kind": kind,
        "calls": calls,
        "callCount": len(records),
        "omittedCalls": omitted,
        "startedAt": started_at_ms,
        "ms": round(ms, 3),
        "skippedLayers": list(skipped_layers),
        "schemaMode": schema_mode,
        **({"wouldBlock": blocked} if blocked else {}),
    }
