"""What the timers' Redis says of those who work with it, and what loaders said of themselves in the database."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import DurationField, ExpressionWrapper, F
from django.db.models.functions import Now

from delayhub.clock import moment
from tasksapp.conf import options
from tasksapp.models import LoaderReport
from tasksapp.timers.lanes import watched_lane


class TimerServer(NamedTuple):
    """What the timers' Redis says.

    Args:
        now: its time.
        claimed: by lane, when a worker last asked for timers; None where none ever did.
        epoch: that of the timers.
        has_loader: whether a loader holds the seat.
    """

    now: datetime
    claimed: dict[str, datetime | None]
    epoch: str | None
    has_loader: bool


class LoaderSeen(NamedTuple):
    """A report of a loader, and how old it is."""

    epoch: str
    redis: str
    worker: str
    age: timedelta


def ask_redis() -> None:
    """Asks the timers' Redis for a sign of life. Raises RedisError, OSError or OptionError where there is none."""
    watched_lane(options().lanes[0]).client.ping()


def look_at_timers() -> TimerServer:
    """What the timers' Redis says, by one round trip. Raises what Redis raises."""
    lanes = [watched_lane(name) for name in options().lanes]
    with lanes[0].client.pipeline(transaction=False) as pipeline:
        pipeline.time()
        pipeline.get(lanes[0].keys.epoch)
        pipeline.exists(lanes[0].keys.loader)
        for lane in lanes:
            pipeline.get(lane.keys.claimed)
        (seconds, micros), epoch, has_loader, *claimed = pipeline.execute()
    return TimerServer(
        now=moment(seconds * 1000 + micros // 1000),
        claimed={
            lane.name: None if at_ms is None else moment(int(at_ms)) for lane, at_ms in zip(lanes, claimed, strict=True)
        },
        epoch=None if epoch is None else epoch.decode(),
        has_loader=bool(has_loader),
    )


def loaders_seen(*, using: str) -> list[LoaderSeen]:
    """The reports of loaders, the newest first: one for each Redis that this database had within a day."""
    # The database's clock, which wrote them: that of this machine may differ.
    age = ExpressionWrapper(Now() - F("seen_at"), output_field=DurationField())
    reports = LoaderReport.objects.using(using).annotate(age=age).order_by("-seen_at")
    return [LoaderSeen(*row) for row in reports.values_list(*LoaderSeen._fields)]
