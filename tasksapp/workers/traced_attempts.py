"""Attempts under spans, where the process traces: callbacks carry their span's trace context to the receiver."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from delayhub.telemetry.tracing import TracedSpan, attempt_span, is_on
from tasksapp.delivery.callback import Callback
from tasksapp.delivery.dispatcher import Sends
from tasksapp.delivery.outcomes import CallbackResult, GiveUp, Retry, Returned, Snooze
from tasksapp.jobs.running_job import RunningJob

T = TypeVar("T")

#: What is said of a failure of an encrypted job: spans are kept elsewhere.
_UNTOLD = "encrypted"


class TracedSender:
    """A sender that puts each callback under a span.

    Args:
        sender: sends the callbacks.
    """

    def __init__(self, sender: Sends) -> None:
        self._sender = sender

    async def send(self, callback: Callback) -> CallbackResult:
        """Sends the callback, with the span's trace context in the place of the job's."""
        if not is_on():
            return await self._sender.send(callback)
        target = callback.target
        attributes = {
            **_attributes(target.biz_type, callback.job_id, attempt=callback.attempt, operation="send"),
            "http.request.method": target.method,
        }
        if not target.is_untold:
            attributes["server.address"] = target.host  # never the URL: it may hold a secret
        name = f"deliver {target.biz_type}"
        with attempt_span(name, created_in=callback.traceparent, attributes=attributes, calls_out=True) as span:
            callback.traceparent = span.traceparent
            result = await self._sender.send(callback)
            _note_result(span, result)
            return result

    async def close(self) -> None:
        """Closes the sender."""
        await self._sender.close()


def traced_call(job: RunningJob, call: Callable[[], T]) -> T:
    """What the job's function gives back, under a span where the process traces. Raises what the function raises."""
    if not is_on():
        return call()
    code = job.biz_type.code
    attributes = _attributes(code, str(job.id), attempt=job.attempt_of_budget, operation="process")
    with attempt_span(f"run {code}", created_in=job.row.traceparent, attributes=attributes, calls_out=False) as span:
        if not job.is_sealed:
            return call()
        try:
            return call()
        except Exception as error:  # raised again outside of the span, which would keep its text
            span.failed(_UNTOLD, kind=type(error).__name__)
            raised = error
    raise raised


def _attributes(biz_type: str, job_id: str, *, attempt: int, operation: str) -> dict[str, str | int]:
    return {
        "messaging.system": "delayhub",
        "messaging.operation.type": operation,
        "messaging.destination.name": biz_type,
        "messaging.message.id": job_id,
        "delayhub.attempt": attempt,
    }


def _note_result(span: TracedSpan, result: CallbackResult) -> None:
    if result.started_ms:
        span.note(delayhub__lateness_ms=result.lateness_ms)
    if result.response is not None:
        span.note(http__response__status_code=result.response.status_code)
    match result.outcome:
        case Retry(reason=reason, kind=kind) | GiveUp(reason=reason, kind=kind):
            is_sealed = getattr(result.callback.context, "is_sealed", False)
            span.failed(_UNTOLD if is_sealed else reason, kind=kind)
        case Returned(reason=reason) | Snooze(reason=reason):
            span.note(delayhub__given_back=reason)
