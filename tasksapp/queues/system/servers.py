"""The servers: the Redis that holds the timers, the database that holds the jobs, and a look whether both agree.

That look is bounded, for a person who asks; ``manage.py reconcile`` looks at all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID

import redis
from django.db import connections, router
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from delayhub.clock import Clock, SystemClock, due_ms, moment
from delayhub.engine.fitness import examine
from tasksapp.conf import options
from tasksapp.models import BizType, Job, Status
from tasksapp.queues.system.section import Column, Fact, Section, Unit, Value
from tasksapp.sql.catalogue import read_size
from tasksapp.sql.pending_rows import PAGE_ROWS, PendingRow, pages
from tasksapp.timers.lanes import timer_address, watched_lane
from tasksapp.timers.timer import fire_times

#: Clocks that differ by more make leases end early or late.
OFFSET_MS = 1_000
#: What the engine says of a server, for translators; what names a version or a policy stays as it is.
_SAID = (
    gettext_noop("its user may not call INFO, so nothing could be checked: +info"),
    gettext_noop("it is a replica, which takes no writes: name the master, or its sentinels"),
    gettext_noop("it keeps nothing on disk, so a restart loses every task: set appendonly yes"),
    gettext_noop("it has snapshots but no append-only file: an accident loses the tasks since the last one"),
)


def redis_section() -> Section:
    """What Redis says of itself, as far as its user may ask. Raises what Redis raises."""
    lane, clock = watched_lane(options().lanes[0]), SystemClock()
    before = clock.now_ms()
    seconds, micros = lane.client.time()
    offset_ms = seconds * 1000 + micros // 1000 - (before + clock.now_ms()) // 2
    epoch: Any = lane.client.get(lane.keys.epoch)
    info: Mapping[str, Any] = {}
    with suppress(redis.ResponseError):  # managed servers hide it, and what is wrong says so
        info = lane.client.info()
    fitness = examine(lane.client)
    warnings = [_(said) for said in fitness.warnings]
    if abs(offset_ms) > OFFSET_MS:
        warnings.append(_("the clock of this machine and that of Redis differ: set both by NTP"))
    return Section(
        facts=[
            Fact("address", _("Address"), timer_address()),
            Fact("server", _("Version"), fitness.server),
            *_said(info),
            Fact("clock_offset_ms", _("Its clock is ahead of this host's by"), offset_ms, Unit.MS),
            Fact("epoch", _("Epoch of the timers"), epoch.decode() if epoch else None),
        ],
        faults=[_(said) for said in fitness.faults],
        warnings=warnings,
    )


def _said(info: Mapping[str, Any]) -> list[Fact]:
    if not info:
        return []
    limit = info.get("maxmemory") or None
    saved = info.get("rdb_last_save_time")
    return [
        Fact("uptime_seconds", _("Up for"), info.get("uptime_in_seconds"), Unit.SECONDS),
        Fact("role", _("Role"), info.get("role")),
        Fact("used_memory", _("Memory in use"), info.get("used_memory"), Unit.BYTES),
        Fact("maxmemory", _("Memory at most"), limit or _("no limit"), Unit.BYTES),
        Fact("maxmemory_policy", _("When memory is full"), info.get("maxmemory_policy")),
        Fact("evicted_keys", _("Keys thrown away for memory"), info.get("evicted_keys")),
        Fact("append_only_file", _("Append-only file"), bool(info.get("aof_enabled"))),
        Fact("saved_at", _("Last snapshot"), moment(saved * 1000) if isinstance(saved, int) else None),
        Fact("clients", _("Connections"), info.get("connected_clients")),
        Fact("replicas", _("Replicas"), info.get("connected_slaves")),
    ]


def database_section() -> Section:
    """Vendor, version, connections, and the sizes of DelayHub's tables. Raises DatabaseError."""
    using = router.db_for_write(Job)
    size, connection = read_size(using=using), connections[using]
    rows: list[list[Value]] = [[table.name, table.rows, table.bytes] for table in size.tables]
    return Section(
        facts=[
            Fact("alias", _("Name in the settings"), using),
            Fact("vendor", _("Kind"), connection.display_name),
            Fact("version", _("Version"), size.version),
            Fact("bytes", _("Size"), size.bytes, Unit.BYTES),
            Fact("connections", _("Connections"), size.connections),
            Fact("max_connections", _("Connections at most"), size.max_connections),
        ],
        columns=[
            Column("table", _("Table")),
            Column("rows", _("Rows, estimated")),
            Column("bytes", _("Size with indexes"), Unit.BYTES),
        ],
        rows=rows,
        empty=_("This kind of database does not know the sizes of its tables without reading them."),
    )


#: Rows so close to their time may be on their way to a worker.
MARGIN = timedelta(seconds=2)
#: How long the look goes on; the biz types that it did not come to are counted.
MOST_SECONDS = 3.0


def timers_section(*, check: bool, clock: Clock | None = None) -> Section:
    """How the first 1 000 rows and timers of each biz type agree; only a word of it where no person asked.

    Raises what the two servers raise.

    Args:
        check: whether to look.
        clock: tells when to stop.
    """
    notes = [_("The command manage.py reconcile looks at all of them and mends them; with --dry-run it only looks.")]
    if not check:
        unknown = Fact("checked", _("Checked"), value=False)
        notes = [_("Not compared yet: that takes up to three seconds, so it is done only if you ask for it."), *notes]
        return Section(facts=[unknown], notes=notes)
    clock = clock or SystemClock()
    end, rows = clock.monotonic() + MOST_SECONDS, list[list[Value]]()
    biz_types = list(BizType.objects.using(router.db_for_write(Job)).select_related("tenant"))
    now = timezone.now()
    for biz_type in biz_types:
        if clock.monotonic() > end:
            break
        rows.append(_compared(biz_type, now=now))
    wrong = sum(int(str(row[3])) + int(str(row[4])) for row in rows)
    return Section(
        facts=[
            Fact("checked", _("Checked"), value=True),
            Fact("biz_types", _("Biz types looked at"), len(rows)),
            Fact("all_biz_types", _("Of all biz types"), len(biz_types)),
        ],
        columns=[
            Column("biz_type", _("Biz type")),
            Column("rows", _("Rows looked at")),
            Column("timers", _("Timers looked at")),
            Column("missing", _("Rows without a timer")),
            Column("late", _("Timers after their row's time")),
            Column("stray", _("Timers without a row")),
        ],
        rows=rows,
        empty=_("There is no biz type."),
        warnings=[_("Timers are missing or late. The loader mends that within a minute; if it does not, see its log.")]
        if wrong
        else [],
        notes=notes,
    )


def _compared(biz_type: BizType, *, now: datetime) -> list[Value]:
    """A row of the table: the biz type, what was looked at, what differs."""
    using, lane = router.db_for_write(Job), watched_lane(biz_type.timer_lane)
    waiting: Sequence[PendingRow] = ()
    if not biz_type.is_shut(now=now):  # one that is shut needs no timers
        page = next(pages(biz_type.id, after=now + MARGIN, until=now + options().near_window, using=using), ())
        waiting = [row for row in page if row.under_way_until is None or row.under_way_until <= now]
    fires = fire_times(lane, biz_type.queue, waiting)
    late = [row for row in waiting if (fires[row.id] or 0) > due_ms(row.next_run_at)]
    timers = list(islice((one for _, page in lane.waiting(biz_type.queue) for one in page), PAGE_ROWS))
    ids = [found for member in timers if (found := _job_id(member)) is not None]
    known = Job.objects.using(using).filter(id__in=ids, biz_type_id=biz_type.id, status=Status.PENDING).count()
    return [biz_type.label, len(waiting), len(timers), list(fires.values()).count(None), len(late), len(timers) - known]


def _job_id(member: str) -> UUID | None:
    try:
        return UUID(member)
    except ValueError:
        return None
