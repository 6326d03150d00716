"""The workers, as their heartbeats describe them; the loader, its lanes, and what it deletes when it is old."""

from __future__ import annotations

from django.db import router
from django.db.models import Count, Max, Min, Q
from django.utils.translation import gettext as _

from tasksapp.conf import options
from tasksapp.models import BizType, Job
from tasksapp.queues.heartbeats import read_workers
from tasksapp.queues.system.section import Column, Fact, Section, Unit, Value
from tasksapp.stats.timer_server import loaders_seen, look_at_timers
from tasksapp.timers.lanes import watched_lane

#: Reports of loaders that are shown.
MOST_REPORTS = 20


def workers_section() -> Section:
    """A row for each worker that wrote within 15 seconds. Raises what Redis raises."""
    rows: list[list[Value]] = [
        [
            worker.name,
            f"{worker.host}:{worker.pid}",
            worker.version,
            f"{worker.pool} x {worker.concurrency}",
            list(worker.queues),
            worker.running_count,
            [f"{task.name} {task.id}" for task in worker.running[:5]],
            worker.open_callbacks,
            worker.last_claim_at,
            worker.started_at,
            worker.seen_at,
            worker.is_loader,
        ]
        for worker in read_workers()
    ]
    return Section(
        columns=[
            Column("name", _("Worker")),
            Column("process", _("Host and process")),
            Column("version", _("Version")),
            Column("pool", _("Pool")),
            Column("queues", _("Takes")),
            Column("running", _("Runs now")),
            Column("tasks", _("What runs")),
            Column("open_callbacks", _("Open callbacks")),
            Column("last_claim_at", _("Took jobs last")),
            Column("started_at", _("Started")),
            Column("seen_at", _("Seen")),
            Column("is_loader", _("loader")),
        ],
        rows=rows,
        empty=_("No worker has written a heartbeat within the last 15 seconds."),
        notes=[_("Workers of a Celery app without Django and DelayHub's app write none, so they are not seen here.")],
    )


def loader_section() -> Section:
    """Whether a loader has the seat, and what loaders reported to the database. Raises what the two servers raise."""
    lane = watched_lane(options().lanes[0])
    with lane.client.pipeline(transaction=False) as pipeline:
        pipeline.pttl(lane.keys.loader)
        pipeline.get(lane.keys.epoch)
        left_ms, epoch = pipeline.execute()
    here = epoch.decode() if epoch else ""
    found = loaders_seen(using=router.db_for_write(Job))
    own = next((loader.age.total_seconds() for loader in found if loader.epoch == here), None)
    rows: list[list[Value]] = [
        [loader.worker, loader.redis, max(0.0, loader.age.total_seconds()), loader.epoch == here]
        for loader in found[:MOST_REPORTS]
    ]
    return Section(
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
    for name, asked_at in look_at_timers().claimed.items():
        counts = watched_lane(name).counts()
        rows.append([name, asked_at, counts.waiting, counts.ready, counts.leased])
    return Section(
        columns=[
            Column("name", _("Lane")),
            Column("asked_at", _("A worker last asked for timers")),
            Column("waiting", _("Timers that wait")),
            Column("due", _("Due timers")),
            Column("leased", _("With workers")),
        ],
        rows=rows,
    )


def purge_section() -> Section:
    """How long finished jobs are kept, and what was deleted last. Raises what the two servers raise."""
    kept = BizType.objects.aggregate(
        least=Min("retention"), most=Max("retention"), always=Count("pk", filter=Q(retention=None))
    )
    last = max(
        ((worker.purged_at, worker.purged_jobs) for worker in read_workers() if worker.purged_at is not None),
        default=(None, None),
    )
    rate = options().purge_rows_per_minute
    return Section(
        facts=[
            Fact("rows_per_minute", _("Rows a minute at most"), rate),
            Fact("shortest_seconds", _("Shortest retention"), _seconds(kept["least"]), Unit.SECONDS),
            Fact("longest_seconds", _("Longest retention"), _seconds(kept["most"]), Unit.SECONDS),
            Fact("kept_always", _("Biz types that keep jobs for good"), kept["always"]),
            Fact("purged_at", _("Deleted jobs last"), last[0]),
            Fact("purged_jobs", _("How many then, in its last second"), last[1]),
        ],
        warnings=[] if rate else [_("Workers delete nothing: PURGE_ROWS_PER_MINUTE is 0, so run purge_jobs yourself.")],
        notes=[_("The worker with the loader deletes; what one did before its last start is not known.")],
    )


def _seconds(value: object) -> float | None:
    total = getattr(value, "total_seconds", None)
    return total() if total is not None else None
