"""Creating jobs under a span, where the process traces: the jobs keep its trace context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from delayhub.telemetry.tracing import creation_span
from tasksapp.jobs.requests import JobRequest

T = TypeVar("T")


def traced(requests: Sequence[JobRequest], write: Callable[[Sequence[JobRequest]], T]) -> T:
    """What ``write`` gives back for the requests, with the span's trace context in each of them.

    Where the callers' own contexts differ, each job keeps its caller's.

    Args:
        requests: what is asked for.
        write: creates the jobs.
    """
    given = {request.traceparent for request in requests if isinstance(request.traceparent, str)}
    codes = {request.biz_type for request in requests if isinstance(request.biz_type, str)}
    code = next(iter(codes)) if len(codes) == 1 else ""
    attributes: dict[str, str | int] = {"messaging.system": "delayhub", "messaging.operation.type": "create"}
    if code:
        attributes["messaging.destination.name"] = code
    if len(requests) != 1:
        attributes["messaging.batch.message_count"] = len(requests)
    one = next(iter(given)) if len(given) == 1 else ""
    with creation_span(f"create {code or 'jobs'}", traceparent=one, attributes=attributes) as span:
        own, differ = span.traceparent, len(given) > 1
        return write(
            [request if differ and request.traceparent else replace(request, traceparent=own) for request in requests]
        )
