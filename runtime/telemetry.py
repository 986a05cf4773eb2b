"""A run as OpenTelemetry spans, by the GenAI conventions; it sends nothing itself and needs the extra `otel`.

One span a run (`invoke_workflow`) and below it one a host call (`execute_tool`). Arguments and results are content and
stay out; what was decided, by whom, how long it took and how large it was goes in. Where spans go is the business of
the embedder or of the `OTEL_*` variables: without an SDK that is set up they go nowhere.
"""

from typing import Any, Final

from host_bridge.trace import CallRecord

SCOPE: Final = "pi_fabric"


class TelemetryMissingError(RuntimeError):
    """The extra `otel` is not installed."""


class RunSpans:
    """The spans of one run, opened and closed as things happen; it fits where a run's observer fits.

    Raises: TelemetryMissingError: the extra is not installed.
    """

    def __init__(
        self, run_id: str, *, session: str | None = None, model: str | None = None, tracer_provider: Any = None
    ) -> None:
        try:
            from opentelemetry import trace
        except ImportError:
            raise TelemetryMissingError("telemetry needs the extra `otel`: pip install 'pi-fabric-py[otel]'") from None
        self._trace = trace
        self._tracer = trace.get_tracer(SCOPE, tracer_provider=tracer_provider)
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "invoke_workflow",
            "gen_ai.workflow.name": "pi-fabric run",
            "pi_fabric.run.id": run_id,
        }
        if session is not None:
            attributes["gen_ai.conversation.id"] = session
        if model is not None:
            attributes["gen_ai.request.model"] = model
        self._run = self._tracer.start_span("invoke_workflow pi-fabric run", attributes=attributes)
        self._below = trace.set_span_in_context(self._run)
        self._open: dict[int, Any] = {}
        self._calls = 0

    def call_started(self, call_id: int, ref: str) -> None:
        """A host call arrived."""
        self._calls += 1
        self._open[call_id] = self._tracer.start_span(f"execute_tool {ref}", context=self._below)

    def call_finished(self, record: CallRecord) -> None:
        """It is over, however."""
        span = self._open.pop(record.id, None)
        if span is None:
            return
        span.update_name(f"execute_tool {record.ref}")
        span.set_attributes(call_attributes(record))
        if not record.ok:
            span.set_status(self._trace.Status(self._trace.StatusCode.ERROR))
        span.end()

    def log_printed(self, text: str) -> None:
        """What a program prints is content and stays out."""

    def approval_waiting(self, request: Any) -> None:  # noqa: ARG002
        """A person is about to be asked; the time they take shows between this event and the call's end."""
        self._run.add_event("approval_waiting")

    def finish(self, kind: str) -> None:
        """The run is over. `kind` is `done` or the run's error kind; calls that never ended end with it."""
        for span in self._open.values():
            span.set_status(self._trace.Status(self._trace.StatusCode.ERROR))
            span.set_attribute("error.type", "cancelled")
            span.end()
        self._open.clear()
        self._run.set_attributes({"pi_fabric.run.kind": kind, "pi_fabric.run.calls": self._calls})
        if kind != "done":
            self._run.set_attribute("error.type", kind)
            self._run.set_status(self._trace.Status(self._trace.StatusCode.ERROR))
        self._run.end()


def call_attributes(record: CallRecord) -> dict[str, Any]:
    """The attributes of one call's span; never its arguments or its result."""
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": record.ref,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": str(record.id),
        "pi_fabric.call.decision": record.decision,
        "pi_fabric.call.arguments.bytes": record.args_bytes,
        "pi_fabric.call.result.bytes": record.result_bytes,
    }
    optional = {
        "pi_fabric.call.risk": record.risk,
        "pi_fabric.call.approver": record.approver,
        "pi_fabric.call.namespace": record.namespace,
        "pi_fabric.call.would_block": record.would_block or None,
        "error.type": None if record.error is None else record.error.kind,
    }
    return attributes | {name: value for name, value in optional.items() if value is not None}
