"""Traces of a test, kept in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


class Traces:
    """The spans that have ended.

    Args:
        exporter: keeps them.
    """

    def __init__(self, exporter: InMemorySpanExporter) -> None:
        self._exporter = exporter

    def all(self) -> list[ReadableSpan]:
        """Those that have ended, in that order."""
        return list(self._exporter.get_finished_spans())

    def named(self, name: str) -> list[ReadableSpan]:
        """Those of that name, in the order in which they ended."""
        return [span for span in self._exporter.get_finished_spans() if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        """The only one of that name."""
        [found] = self.named(name)
        return found


@contextmanager
def tracing_on() -> Iterator[Traces]:
    """Sets up tracing for this process, and takes it back: OpenTelemetry's own functions can do it only once."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace, "_TRACER_PROVIDER", provider)
        yield Traces(exporter)
    provider.shutdown()


def trace_and_span(traceparent: str) -> tuple[int, int]:
    """The ids of trace and span in a W3C trace context."""
    _version, trace_id, span_id, _flags = traceparent.split("-")
    return int(trace_id, 16), int(span_id, 16)


def ids_of(span: ReadableSpan) -> tuple[int, int]:
    """The ids of a span's trace and of the span itself."""
    context = span.get_span_context()
    assert context is not None
    return context.trace_id, context.span_id
