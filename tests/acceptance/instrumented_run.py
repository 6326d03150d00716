"""A small project with Sentry, OpenTelemetry and a monitor of events: ``instrumented_run.py URL`` prints what they see.

The same calls run over any broker. The answer is a JSON object without ids and times, so that two can be compared.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from functools import wraps
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import flower.command  # noqa: F401  defines the options that Flower's metrics read
import redis
import sentry_sdk
from celery import Celery, chain, group
from celery.beat import Service
from celery.schedules import crontab
from flower.events import EventsState
from kombu import Exchange
from opentelemetry.instrumentation.celery import CeleryInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import REGISTRY
from sentry_sdk.envelope import Envelope
from sentry_sdk.integrations.celery import CeleryIntegration
from sentry_sdk.transport import Transport

import delayhub
from delayhub.engine.occurrences import OccurrenceBook
from delayhub.testing.movable_clock import MovableClock
from tests.replaced_by_tracers import REPLACED
from tests.waiting import wait_until

#: Attributes of spans with a value that is another in each run.
VARIES = {
    *("messaging.message.id", "messaging.message.receive.latency", "messaging.conversation_id"),
    *("celery.eta", "celery.hostname", "celery.reply_to", "thread.id", "thread.name"),
}


class Seen(Transport):
    """What would be sent to Sentry."""

    def __init__(self) -> None:
        super().__init__()
        self.envelopes: list[Envelope] = []

    def capture_envelope(self, envelope: Envelope) -> None:
        """Keep it."""
        self.envelopes.append(envelope)


def run(url: str, *, instrument_first: bool) -> dict[str, Any]:
    """Return what each of the tools saw of one run of the project."""
    calls: Counter[str] = Counter()
    spans = InMemorySpanExporter()
    sentry = Seen()

    def instrument() -> None:
        for path in REPLACED:
            count(calls, path)
        sentry_sdk.init(
            dsn="http://key@127.0.0.1:9/1",
            transport=sentry,
            traces_sample_rate=1.0,
            auto_enabling_integrations=False,
            integrations=[CeleryIntegration(monitor_beat_tasks=True)],
        )
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(spans))
        CeleryInstrumentor().instrument(tracer_provider=provider)

    if instrument_first:
        instrument()
    app, events = make_app(url), []
    if url.startswith("delayhub"):
        delayhub.install(app)
    if not instrument_first:
        instrument()
    # Only now, as `celery worker` does: the worker's modules keep what they import of those that are replaced.
    assert "celery.worker.consumer.consumer" not in sys.modules
    start_worker = import_module("celery.contrib.testing.worker").start_worker
    with listening(app, events), start_worker(app, pool="solo", perform_ping_check=False, loglevel="CRITICAL"):
        call_tasks(app)
        wait_until(lambda: ends(events) == 9, otherwise=lambda: f"the ends of all tasks, not of {ends(events)}")
        tick(app, url)  # now, since it moves the clock, and with it the leases of what runs
        wait_until(lambda: ends(events) == 10, otherwise="the end of the periodic task")
    return {
        "replaced": {name: number for name, number in sorted(calls.items()) if not name.endswith(".tick")},
        "ticks": calls["Scheduler.tick"] > 0,
        "sentry": sorted(described_item(item) for one in sentry.envelopes for item in one.items),
        "opentelemetry": sorted(described_span(span) for span in spans.get_finished_spans()),
        "events": sorted(described_event(event) for event in events if event["type"].startswith("task-")),
        "flower": metrics(events),
    }


def count(calls: Counter[str], path: str) -> None:
    """Replace an attribute as a tracing library does: by a function that counts and calls it."""
    module, _, names = path.partition(":")
    *owners, name = names.split(".")
    owner = attrgetter(*owners)(import_module(module)) if owners else import_module(module)
    inner = getattr(owner, name)

    @wraps(inner)
    def counted(*args: Any, **options: Any) -> Any:
        # Events are published in groups of another size in each run, and their monitor consumes as well.
        given = {getattr(one, "name", one) for one in [*args, *options.values()] if isinstance(one, str | Exchange)}
        if "celeryev" not in given and threading.current_thread().name != "monitor":
            calls[names] += 1
        return inner(*args, **options)

    setattr(owner, name, counted)


def make_app(url: str) -> Celery:
    """Return the project's app."""
    app = Celery("seen", broker=url, backend="cache+memory://", set_as_current=True)
    app.conf.update(
        worker_send_task_events=True,
        task_send_sent_event=True,
        task_track_started=True,
        worker_hijack_root_logger=False,
        result_expires=None,
        beat_schedule={"nightly": {"task": "seen.add", "schedule": crontab(), "args": (1, 1)}},
    )

    @app.task(name="seen.add")
    def add(x: int, y: int) -> int:
        return x + y

    @app.task(name="seen.fail")
    def fail() -> None:
        raise ValueError("as it should")

    @app.task(name="seen.flaky", bind=True)
    def flaky(self: Any) -> int:
        if not self.request.retries:
            raise self.retry(countdown=0.2)
        return int(self.request.retries)

    return app


def call_tasks(app: Celery) -> None:
    """Call them in each way that there is."""
    add = app.tasks["seen.add"]
    add.delay(1, 2)
    add.apply_async((1, 2), countdown=0.3)
    add.apply_async((1, 2), priority=3, headers={"tenant": "t-1"})
    app.send_task("seen.add", (3, 4))
    app.tasks["seen.fail"].delay()
    app.tasks["seen.flaky"].delay()
    chain(add.s(1, 1), add.s(1))()
    group([add.s(5, 5)])()


def tick(app: Celery, url: str) -> None:
    """Let beat publish its one entry once."""
    if url.startswith("redis"):
        # Celery's own scheduler takes from the entry when it ran last, ours from Redis.
        app.conf.beat_schedule["nightly"]["last_run_at"] = datetime(2020, 1, 1, tzinfo=UTC)
        app.conf.beat_scheduler = "celery.beat:Scheduler"
    scheduler: Any = Service(app, scheduler_cls=app.conf.beat_scheduler).get_scheduler()
    try:
        scheduler.tick()
        if url.startswith("delayhub"):
            with redis.Redis.from_url(url.replace("delayhub", "redis")) as client:
                MovableClock(client, jobs=False).advance(seconds=60)
                scheduler._look_again_ms = 0
                book = OccurrenceBook(client, "celery")
                wait_until(lambda: (scheduler.tick(), book.all()["seen/nightly"].count)[1], otherwise="an occurrence")
    finally:
        scheduler.close()


class listening:  # noqa: N801  a context
    """Put all events of the app's workers and callers into a list."""

    def __init__(self, app: Celery, events: list[dict[str, Any]]) -> None:
        self.app, self.events, self.is_over = app, events, False
        self.thread = threading.Thread(target=self.listen, name="monitor")

    def __enter__(self) -> None:
        self.thread.start()
        with self.app.connection() as connection, self.app.events.Dispatcher(connection, hostname="probe") as probe:
            wait_until(lambda: probe.send("probe") or self.events, otherwise="a monitor that hears events")

    def __exit__(self, *_: object) -> None:
        self.is_over = True
        self.thread.join()

    def listen(self) -> None:
        """Capture them, as Flower and exporters do."""
        with self.app.connection() as connection:
            receiver = self.app.events.Receiver(connection, handlers={"*": self.events.append})
            while not self.is_over:
                with suppress(TimeoutError):
                    receiver.capture(limit=None, timeout=0.2, wakeup=False)


def ends(events: list[dict[str, Any]]) -> int:
    """Return how many tasks have ended."""
    return len([event for event in events if event["type"] in {"task-succeeded", "task-failed"}])


def described_item(item: Any) -> str:
    """Return what an item of Sentry's says, without ids and times."""
    said = item.payload.json or {}
    if item.type == "check_in":
        config = said.get("monitor_config", {})
        return f"check-in {said['monitor_slug']} {said['status']} {json.dumps(config, sort_keys=True)}"
    if item.type == "transaction":
        # Without the publishes of events, which have no name.
        inner = sorted(
            map(described_sentry_span, filter(lambda span: "unknown" not in span["description"], said["spans"]))
        )
        return f"transaction {said['transaction']} {described_sentry_span(said['contexts']['trace'])} {inner}"
    raised = [one["type"] for one in said.get("exception", {}).get("values", [])]
    return f"{item.type} {said.get('transaction')} {raised}"


def described_sentry_span(span: dict[str, Any]) -> str:
    """Return what a span says, without ids and times."""
    data = {name: None if name in VARIES else value for name, value in span.get("data", {}).items()}
    return f"{span.get('op')} {span.get('description')} {span.get('status')} {json.dumps(data, sort_keys=True)}"


def described_span(span: Any) -> str:
    """Return what a span of OpenTelemetry says, without ids and times."""
    values = {name: None if name in VARIES else value for name, value in (span.attributes or {}).items()}
    is_child = "child" if span.parent else "root"
    return (
        f"{is_child} {span.name} {span.kind.name} {span.status.status_code.name} {json.dumps(values, sort_keys=True)}"
    )


def described_event(event: dict[str, Any]) -> str:
    """Return the type of an event, what it says of the task, and the names of all that it says."""
    return f"{event['type']} {event.get('name')} {event.get('args')} {event.get('queue')} {sorted(event)}"


def metrics(events: list[dict[str, Any]]) -> list[str]:
    """Return what Flower's page for Prometheus shows after these events."""
    state = EventsState()
    for event in events:
        if event["hostname"] != "probe":
            state.event(dict(event))
    samples = [one for family in REGISTRY.collect() if family.name.startswith("flower_") for one in family.samples]
    ends = ("_total", "_count", "tasks", "online")  # those that are no times
    return sorted(
        f"{one.name} {one.labels.get('type')} {one.labels.get('task')} {one.value}"
        for one in samples
        if one.name.endswith(ends)
    )


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], instrument_first="--instrument-first" in sys.argv)))
