"""Spans by OpenTelemetry: on where a process has set up a tracer provider; elsewhere it is not even imported.

A job may wait for days, so no span stays open meanwhile. Creating it is one span, whose trace context the job keeps as
its ``traceparent``; each attempt is another, in a trace of its own, with a link to the first.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, SpanKind, Tracer, TracerProvider

#: The name of our tracer: what OpenTelemetry calls the instrumentation scope.
SCOPE = "delayhub"

_API = "opentelemetry.trace"


def is_installed() -> bool:
    """Whether OpenTelemetry's API is installed. It is not imported for that."""
    return find_spec("opentelemetry") is not None and find_spec(_API) is not None


def is_on() -> bool:
    """Whether this process has set up tracing, so that spans go somewhere; asking costs 0.1 µs where it has not."""
    # A process that has not imported the API cannot have set it up.
    api: Any = sys.modules.get(_API)
    ask = getattr(api, "get_tracer_provider", None)
    if ask is None or type(provider := ask()) is api.ProxyTracerProvider:
        return False
    # Such as OTEL_SDK_DISABLED gives: its spans have no ids, and the caller's trace context would be lost for them.
    return type(_tracer_of(provider)) is not api.NoOpTracer


class TracedSpan:
    """A span that is under way.

    Args:
        span: OpenTelemetry's.
    """

    def __init__(self, span: Span) -> None:
        self._span = span

    @property
    def traceparent(self) -> str:
        """Its W3C trace context, for a header and for the job."""
        context = self._span.get_span_context()
        return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"

    def note(self, **attributes: str | int | float | bool) -> None:
        """Adds attributes; in their names ``__`` stands for a dot."""
        for name, value in attributes.items():
            self._span.set_attribute(name.replace("__", "."), value)

    def failed(self, reason: str, *, kind: str) -> None:
        """Marks it as failed, for that reason."""
        from opentelemetry.trace import Status, StatusCode  # noqa: PLC0415  only where tracing is on

        self._span.set_attribute("error.type", kind)
        self._span.set_status(Status(StatusCode.ERROR, reason))


@contextmanager
def creation_span(name: str, *, traceparent: str, attributes: Mapping[str, str | int]) -> Iterator[TracedSpan]:
    """A span around what creates jobs, while it is open.

    Its parent is the span that is under way here; where there is none, the one that the caller's trace context names.

    Args:
        name: the span's name.
        traceparent: the caller's W3C trace context; '' for none.
        attributes: the span's attributes.
    """
    from opentelemetry import trace  # noqa: PLC0415  only where tracing is on

    parent, links = None, []
    current = trace.get_current_span().get_span_context()
    if not current.is_valid:
        parent = _context_of(traceparent)
    elif (given := _span_of(traceparent)) is not None and given.trace_id != current.trace_id:
        links = [trace.Link(given)]
    with _tracer().start_as_current_span(
        name, context=parent, kind=trace.SpanKind.PRODUCER, links=links, attributes=dict(attributes)
    ) as span:
        yield TracedSpan(span)


@contextmanager
def attempt_span(
    name: str, *, created_in: str, attributes: Mapping[str, str | int], calls_out: bool
) -> Iterator[TracedSpan]:
    """A span around one attempt, with a link to what created the job.

    Args:
        name: the span's name.
        created_in: the trace context that the job has kept; '' for none.
        attributes: the span's attributes.
        calls_out: whether the attempt calls a receiver: then it begins a trace, which the receiver goes on with.
            Otherwise it runs a function here, as part of the span under way, if there is one.
    """
    from opentelemetry import trace  # noqa: PLC0415  only where tracing is on
    from opentelemetry.context import Context  # noqa: PLC0415  the same

    created = _span_of(created_in)
    links = [] if created is None else [trace.Link(created)]
    kind: SpanKind = trace.SpanKind.CLIENT if calls_out else trace.SpanKind.CONSUMER
    # Callbacks of many jobs share a thread: the span that is under way there is another job's.
    parent: Context | None = Context() if calls_out else None
    with _tracer().start_as_current_span(
        name, context=parent, kind=kind, links=links, attributes=dict(attributes)
    ) as span:
        yield TracedSpan(span)


def _context_of(traceparent: str) -> Context:
    from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415  only where tracing is on
        TraceContextTextMapPropagator,
    )

    return TraceContextTextMapPropagator().extract({"traceparent": traceparent})


def _span_of(traceparent: str) -> Any:
    """The span that a trace context names; None where it names none."""
    if not traceparent:
        return None
    from opentelemetry import trace  # noqa: PLC0415  only where tracing is on

    found = trace.get_current_span(_context_of(traceparent)).get_span_context()
    return found if found.is_valid else None


def _tracer() -> Tracer:
    from opentelemetry import trace  # noqa: PLC0415  only where tracing is on

    return _tracer_of(trace.get_tracer_provider())


@lru_cache(maxsize=1)
def _tracer_of(provider: TracerProvider) -> Tracer:
    # A provider makes another tracer at each call, for 10 µs.
    return provider.get_tracer(SCOPE)
