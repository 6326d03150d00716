"""What Redis knows: who claims jobs, what gates and breakers hold back, the loader, Celery's queues and workers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from django.utils import timezone

from delayhub.celery_support.backlog import backlogs
from tasksapp.biz_types.breaker import read_breakers
from tasksapp.metrics import catalogue
from tasksapp.metrics.catalogue import OTHERS, BizTypeSeries
from tasksapp.queues.celery_broker import NoBroker, celery_broker
from tasksapp.queues.heartbeats import read_workers
from tasksapp.stats.timer_server import look_at_timers
from tasksapp.timers.lanes import watched_lane

#: Queues with series of their own, by name; queues with generated names could be thousands.
MOST_QUEUES = 200
_PARTS = (
    (catalogue.QUEUE_WAITING, "waiting"),
    (catalogue.QUEUE_DUE, "due"),
    (catalogue.QUEUE_LEASED, "leased"),
    (catalogue.QUEUE_DEAD, "dead"),
    (catalogue.QUEUE_LATE, "late_seconds"),
    (catalogue.QUEUE_HEALED, "healed"),
)


def lane_numbers() -> Iterator[Any]:
    """The families of lanes and of the loader's seat, by one round trip. Raises what Redis raises."""
    found = look_at_timers()
    yield catalogue.LOADER_SEATED.of(found.has_loader)
    ages = catalogue.CLAIM_AGE.family()
    for lane, claimed_at in found.claimed.items():
        if claimed_at is not None:
            ages.add_metric([lane], max(0.0, (found.now - claimed_at).total_seconds()))
    yield ages


def gate_numbers(series: BizTypeSeries) -> Iterator[Any]:
    """The families of gates and breakers, by two round trips for each lane. Raises what Redis raises.

    What waits at gates is asked for biz types with series of their own only.
    """
    now = timezone.now()
    shut: Counter[tuple[str, str]] = Counter(series.of(each.pk) for each in series.every if each.is_shut(now=now))
    opened: Counter[tuple[str, str]] = Counter()
    waiting, slots, held = (
        each.family() for each in (catalogue.GATE_WAITING, catalogue.GATE_SLOTS, catalogue.GATE_SLOTS_HELD)
    )
    for name in sorted({each.timer_lane for each in series.every}):
        lane = watched_lane(name)
        group = [each for each in series.every if each.timer_lane == name]
        breakers = read_breakers(lane, group)
        opened.update(
            series.of(each.pk)
            for each in group
            if (breaker := breakers.get(each.queue)) is not None and breaker.open_until_ms is not None
        )
        named = [each for each in group if series.of(each.pk) != OTHERS]
        counts = lane.outlook([each.queue for each in named])
        with lane.client.pipeline(transaction=False) as pipeline:
            for each in named:
                pipeline.zcard(lane.keys.queue(each.queue).in_flight)
            replies = pipeline.execute() if named else []
        for each, counted, in_flight in zip(named, counts, replies, strict=True):
            labels = series.of(each.pk)
            waiting.add_metric(labels, counted.due)
            if each.max_in_flight is not None:
                slots.add_metric(labels, each.max_in_flight)
                held.add_metric(labels, in_flight)
    yield from (_flags(catalogue.SHUT, series, shut), _flags(catalogue.BREAKER_OPEN, series, opened))
    yield from (waiting, slots, held)


def _flags(metric: catalogue.Described, series: BizTypeSeries, found: Counter[tuple[str, str]]) -> Any:
    """1 and 0; of the series that several biz types share, how many."""
    family = metric.family()
    for labels in series:
        family.add_metric(labels, found[labels])
    return family


def queue_numbers() -> Iterator[Any]:
    """The families of Celery's queues and timer lanes; none where the broker is not ours. Raises what Redis raises."""
    with celery_broker() as broker:
        if isinstance(broker, NoBroker):
            return
        queues = broker.browser.queues(broker.used_names()[:MOST_QUEUES])
        found = backlogs(broker.browser.client, queues)
    for metric, part in _PARTS:
        family = metric.family()
        for name, backlog in found.items():
            family.add_metric([name], getattr(backlog, part))
        yield family


def worker_numbers() -> Iterator[Any]:
    """The families of workers, all together: by name they would be new series after every restart.

    Raises what Redis raises.
    """
    beats = read_workers()
    yield catalogue.WORKERS.of(len(beats))
    for metric, part in (
        (catalogue.WORKER_SLOTS, "concurrency"),
        (catalogue.TASKS_RUNNING, "running_count"),
        (catalogue.CALLBACKS_OPEN, "open_callbacks"),
    ):
        yield metric.of(sum(map(attrgetter(part), beats)))
