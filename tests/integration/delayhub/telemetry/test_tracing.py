"""Spans go where a process has set up tracing; elsewhere OpenTelemetry is not even imported."""

from __future__ import annotations

import subprocess
import sys

import pytest
from opentelemetry.trace import SpanKind, StatusCode

from delayhub.telemetry import tracing
from delayhub.telemetry.tracing import attempt_span, creation_span
from tests.tracing import ids_of, trace_and_span, tracing_on

CALLERS = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
#: redis-py imports OpenTelemetry by itself, so the one who imports it is looked at.
WHO_IMPORTS = """
import builtins, sys
ask, importers = builtins.__import__, set()
def noted(name, globals=None, *rest, **named):
    if name.startswith("opentelemetry"):
        importers.add((globals or {}).get("__name__", "").partition(".")[0])
    return ask(name, globals, *rest, **named)
builtins.__import__ = noted
import django
from django.conf import settings
settings.configure(
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "tasksapp"], USE_TZ=True,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    DELAYHUB={"REDIS_URL": "redis://127.0.0.1:1/0"},
)
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
import tasksapp.tasks
from tasksapp import jobs
from tasksapp.models import BizType
BizType.objects.create(code="order.close", url="https://shop.example/")
assert jobs.create("order.close", delay=60).created
print(sorted(importers & {"delayhub", "tasksapp"}))
"""


def test_nothing_of_opentelemetry_is_imported_although_it_is_installed() -> None:
    done = subprocess.run([sys.executable, "-c", WHO_IMPORTS], capture_output=True, text=True, check=False, timeout=120)

    assert tracing.is_installed()
    assert done.stdout.strip() == "[]", done.stderr


def test_it_is_on_only_while_a_provider_is_set_up() -> None:
    assert not tracing.is_on()
    with tracing_on():
        assert tracing.is_on()
    assert not tracing.is_on()


def test_a_provider_that_is_switched_off_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")

    with tracing_on():
        assert not tracing.is_on()


def test_without_opentelemetry_there_is_no_tracing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)

    assert not tracing.is_on()
    assert not tracing.is_installed()


def test_what_creates_goes_on_with_the_callers_trace() -> None:
    with tracing_on() as traces, creation_span("create x", traceparent=CALLERS, attributes={"a": 1}) as span:
        kept = span.traceparent

    created = traces.one("create x")
    assert ids_of(created) == trace_and_span(kept)
    assert created.parent is not None
    assert (created.parent.trace_id, created.parent.span_id) == trace_and_span(CALLERS)
    assert (created.kind, dict(created.attributes or {})) == (SpanKind.PRODUCER, {"a": 1})


@pytest.mark.parametrize("given", ["", "not a context"])
def test_without_a_callers_trace_it_begins_one(given: str) -> None:
    with tracing_on() as traces, creation_span("create x", traceparent=given, attributes={}):
        pass

    assert traces.one("create x").parent is None


def test_a_span_under_way_is_the_parent_and_another_trace_of_the_caller_is_linked() -> None:
    with (
        tracing_on() as traces,
        creation_span("outer", traceparent="", attributes={}),
        creation_span("inner", traceparent=CALLERS, attributes={}),
    ):
        pass

    outer, inner = traces.one("outer"), traces.one("inner")
    assert inner.parent is not None
    assert inner.parent.span_id == ids_of(outer)[1]
    [link] = inner.links
    assert (link.context.trace_id, link.context.span_id) == trace_and_span(CALLERS)


def test_an_attempt_that_calls_out_begins_a_trace_linked_to_the_creation_whatever_is_under_way() -> None:
    with (
        tracing_on() as traces,
        creation_span("of another job", traceparent="", attributes={}),
        attempt_span("deliver x", created_in=CALLERS, attributes={}, calls_out=True) as span,
    ):
        span.note(http__response__status_code=503)
        span.failed("HTTP 503", kind="http.503")

    attempt = traces.one("deliver x")
    assert attempt.parent is None
    [link] = attempt.links
    assert (link.context.trace_id, link.context.span_id) == trace_and_span(CALLERS)
    assert attempt.attributes == {"http.response.status_code": 503, "error.type": "http.503"}
    assert (attempt.kind, attempt.status.status_code) == (SpanKind.CLIENT, StatusCode.ERROR)


def test_an_attempt_that_runs_here_is_part_of_the_span_under_way() -> None:
    with (
        tracing_on() as traces,
        creation_span("celery's own", traceparent="", attributes={}),
        attempt_span("run x", created_in="", attributes={}, calls_out=False),
    ):
        pass

    attempt = traces.one("run x")
    assert attempt.parent is not None
    assert attempt.parent.span_id == ids_of(traces.one("celery's own"))[1]
    assert (attempt.kind, list(attempt.links)) == (SpanKind.CONSUMER, [])
