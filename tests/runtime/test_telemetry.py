"""A run as spans: one for the run, one for each call, no content."""

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from host_bridge.trace import CallError, CallRecord
from runtime.telemetry import RunSpans


def spans_of(*records: CallRecord, kind: str = "done", unfinished: bool = False) -> list:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    spans = RunSpans("run-1", session="s.jsonl", model="local/r1", tracer_provider=provider)
    for record in records:
        spans.call_started(record.id, record.ref)
        spans.call_finished(record)
    if unfinished:
        spans.call_started(99, "pi.bash")
    spans.log_printed("secret text")
    spans.finish(kind)
    provider.shutdown()
    return list(exporter.get_finished_spans())


def record(**fields: object) -> CallRecord:
    return CallRecord(**{"id": 1, "ref": "pi.read", "ok": True, "ms": 5.0, "risk": "read", **fields})  # type: ignore[arg-type]


def test_a_call_is_a_tool_span_below_the_runs() -> None:
    call, run = spans_of(record(args_bytes=10, result_bytes=20, approver="approvals.read = allow"))
    assert (call.name, run.name) == ("execute_tool pi.read", "invoke_workflow pi-fabric run")
    assert call.parent.span_id == run.context.span_id
    assert call.attributes["gen_ai.operation.name"] == "execute_tool"
    assert call.attributes["gen_ai.tool.name"] == "pi.read"
    assert call.attributes["gen_ai.tool.call.id"] == "1"
    assert call.attributes["pi_fabric.call.decision"] == "allowed"
    assert call.attributes["pi_fabric.call.result.bytes"] == 20
    assert run.attributes["gen_ai.conversation.id"] == "s.jsonl"
    assert run.attributes["gen_ai.request.model"] == "local/r1"
    assert run.attributes["pi_fabric.run.calls"] == 1


def test_failures_are_errors_with_their_kind() -> None:
    denied = record(ok=False, decision="denied", error=CallError(kind="denied", message="no"), would_block=True)
    call, run = spans_of(denied, kind="denied")
    assert (call.attributes["error.type"], run.attributes["error.type"]) == ("denied", "denied")
    assert call.attributes["pi_fabric.call.would_block"] is True
    assert not call.status.is_ok
    assert not run.status.is_ok


def test_a_call_that_never_ended_ends_with_the_run() -> None:
    call, run = spans_of(unfinished=True, kind="cancelled")
    assert (call.name, call.attributes["error.type"]) == ("execute_tool pi.bash", "cancelled")
    assert run.end_time >= call.end_time


def test_no_content_is_exported() -> None:
    found = spans_of(record(args_preview='{"path": "private.txt"}'))
    assert "private" not in str([(span.name, dict(span.attributes)) for span in found])
    assert "secret" not in str([(span.name, dict(span.attributes)) for span in found])
