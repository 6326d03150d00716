"""The loader, and the lanes that it brings timers into."""

from __future__ import annotations

from django.db import router
from django.db.models import DurationField, ExpressionWrapper, F
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from delayhub.clock import moment
from tasksapp.conf import options
from tasksapp.models import Job, LoaderReport
from tasksapp.queues.system.section import Column, Fact, Section, Unit, Value
from tasksapp.timers.lanes import watched_lane

#: Reports of loaders that are shown: one for each Redis that this database had within a day.
MOST_REPORTS = 20


def loader_section() -> Section:
    """Whether a loader has the seat, and what loaders reported to the database. Raises what the two servers raise."""
    lane = watched_lane(options().lanes[0])
    with lane.client.pipeline(transaction=False) as pipeline:
        pipeline.pttl(lane.keys.loader)
        pipeline.get(lane.keys.epoch)
        left_ms, epoch = pipeline.execute()
    here = epoch.decode() if epoch else ""
    aged = LoaderReport.objects.using(router.db_for_write(Job)).annotate(
        # The database's clock, which wrote them.
        age=ExpressionWrapper(Now() - F("seen_at"), output_field=DurationField())
    )
    found = list(aged.order_by("-seen_at")[:MOST_REPORTS])
    own = next((report.age.total_seconds() for report in found if report.epoch == here), None)
    rows: list[list[Value]] = [
        [report.worker, report.redis, max(0.0, report.age.total_seconds()), report.epoch == here] for report in found
    ]
    return Section(
        key="loader",
        title=_("Loader"),
        facts=[
            Fact("has_seat", _("A loader has the seat"), left_ms > 0),
            Fact("seat_ends_in_ms", _("Its seat ends, unless renewed, in"), max(0, left_ms), Unit.MS),
            Fact("last_turn_seconds", _("Time since its last turn"), own, Unit.SECONDS),
        ],
        columns=[
            Column("worker", _("Worker")),
            Column("redis", _("Its Redis")),
            Column("age_seconds", _("Last report"), Unit.SECONDS),
            Column("is_this_redis", _("this Redis")),
        ],
        rows=rows,
        empty=_("No loader has ever reported to this database: no worker took a timer lane."),
        warnings=[] if left_ms > 0 else [_("No loader has the seat: far jobs get no timers.")],
    )


def lanes_section() -> Section:
    """The timer lanes of the settings. Raises what Redis raises."""
    rows: list[list[Value]] = []
    for name in options().lanes:
        lane = watched_lane(name)
        claimed = lane.client.get(lane.keys.claimed)
        counts = lane.counts()
        asked_at = moment(int(claimed)) if claimed else None
        rows.append([name, asked_at, counts.waiting, counts.ready, counts.leased])
    return Section(
        key="lanes",
        title=_("Timer lanes"),
        columns=[
            Column("name", _("Lane")),
            Column("asked_at", _("A worker last asked for timers")),
            Column("waiting", _("Timers that wait")),
            Column("due", _("Due timers")),
            Column("leased", _("With workers")),
        ],
        rows=rows,
    )
