"""What Redis knows of Celery's queues and of workers."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from delayhub.celery_support.backlog import backlogs
from tasksapp.metrics import catalogue
from tasksapp.queues.celery_broker import NoBroker, celery_broker
from tasksapp.queues.heartbeats import read_workers

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
