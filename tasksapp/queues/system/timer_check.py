"""A bounded look whether timers and rows agree, for a person who asks; ``manage.py reconcile`` looks at all of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import islice
from uuid import UUID

from django.db import router
from django.utils import timezone
from django.utils.translation import gettext as _

from delayhub.clock import Clock, SystemClock, due_ms
from tasksapp.conf import options
from tasksapp.models import BizType, Job, Status
from tasksapp.queues.system.section import Column, Fact, Section, Value
from tasksapp.sql.pending_rows import PAGE_ROWS, PendingRow, pages
from tasksapp.timers.lanes import watched_lane
from tasksapp.timers.timer import fire_times

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
