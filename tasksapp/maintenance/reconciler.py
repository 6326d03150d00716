"""Reconciler: compares the timers in Redis with the rows they stand for, and repairs what differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from delayhub.clock import due_ms, now_by
from delayhub.engine import TimerLane
from tasksapp.conf import options
from tasksapp.jobs.flow_order import with_turn
from tasksapp.models import BizType, Job, Status
from tasksapp.sql.pending_rows import PendingRow, count_pending, pages
from tasksapp.timers.arming import ensure_timers
from tasksapp.timers.lanes import client, patient_lane
from tasksapp.timers.redis_clock import RedisClock
from tasksapp.timers.timer import Timer, fire_times

#: Jobs that are due so soon, or since then, may be on their way to a worker; what differs about them repairs itself.
MARGIN = timedelta(seconds=2)

Advance = Callable[[int], object]


@dataclass(slots=True)
class Difference:
    """How the timers of a biz type differ from its overdue rows and those of the near window.

    Args:
        rows: pending rows that were looked at.
        overdue: those of them that should have run already: they have no timer, or wait for a worker.
        is_shut: whether the biz type is paused or disabled; then its rows need no timers, and none was looked at.
        timers: timers that were looked at.
        missing: rows without a timer.
        late: rows whose timer fires after they should run.
        stray: timers without a pending row.
    """

    rows: int = 0
    overdue: int = 0
    is_shut: bool = False
    timers: int = 0
    missing: list[UUID] = field(default_factory=list)
    late: list[UUID] = field(default_factory=list)
    stray: list[UUID] = field(default_factory=list)

    @property
    def is_none(self) -> bool:
        """Whether Redis is in step."""
        return not (self.missing or self.late or self.stray)


class Reconciler:
    """Looks at every timer and every row of the near window, while loader and workers go on.

    Args:
        using: the database.
        mend: whether missing and late timers are ensured, and stray ones removed.
    """

    def __init__(self, *, using: str, mend: bool) -> None:
        self._using = using
        self._mend = mend
        self._clock = RedisClock(client)
        self._clock.sync()

    def total(self) -> int:
        """How many rows and timers there are to look at."""
        now = now_by(self._clock)
        biz_types = self._biz_types()
        rows = sum(
            count_pending(biz_type.id, after=None, until=now + options().near_window, using=self._using)
            for biz_type in biz_types
            if not biz_type.is_shut(now=now)
        )
        return rows + sum(patient_lane(biz_type.timer_lane).count(biz_type.queue) for biz_type in biz_types)

    def run_once(self, *, advance: Advance = lambda _: None) -> dict[str, Difference]:
        """By biz type, how its timers differ, or differed before they were repaired.

        Args:
            advance: called with the number of rows or timers of each page.
        """
        return {biz_type.label: self.compare(biz_type, advance=advance) for biz_type in self._biz_types()}

    def compare(self, biz_type: BizType, *, advance: Advance = lambda _: None) -> Difference:
        """The same for one biz type."""
        now, lane = now_by(self._clock), patient_lane(biz_type.timer_lane)
        # One that is paused or disabled needs no timers; those it has do no harm.
        difference = Difference(is_shut=biz_type.is_shut(now=now))
        if not difference.is_shut:
            for page in pages(biz_type.id, after=None, until=now - MARGIN, using=self._using):
                difference.overdue += len(page)
                # The message of a Celery task that is under way needs no timer. A worker that could not take a row sets
                # its timer a moment ahead.
                due = with_turn(biz_type, page, using=self._using)
                waiting = [row for row in due if row.under_way_until is None or row.under_way_until <= now]
                difference.rows += len(page) - len(waiting)
                self._compare_rows(lane, biz_type, waiting, difference, in_time=now + MARGIN)
                advance(len(page))
            until = now + options().near_window
            for page in pages(biz_type.id, after=now + MARGIN, until=until, using=self._using):
                self._compare_rows(lane, biz_type, with_turn(biz_type, page, using=self._using), difference)
                advance(len(page))
        for key, ids in lane.waiting(biz_type.queue):
            self._compare_timers(lane, biz_type, ids, difference, key=key)
            advance(len(ids))
        return difference

    def _compare_rows(
        self,
        lane: TimerLane,
        biz_type: BizType,
        rows: Sequence[PendingRow],
        difference: Difference,
        *,
        in_time: datetime | None = None,
    ) -> None:
        """Looks up the timers of the rows; each must fire when its row says, or by ``in_time``."""
        wrong: list[PendingRow] = []
        fires = fire_times(lane, biz_type.queue, rows)
        for row in rows:
            fires_ms = fires[row.id]
            if fires_ms is None:
                difference.missing.append(row.id)
                wrong.append(row)
            elif fires_ms > due_ms(in_time or row.next_run_at):
                difference.late.append(row.id)
                wrong.append(row)
        difference.rows += len(rows)
        if self._mend and wrong:
            ensure_timers(Timer.of(row, biz_type) for row in wrong)

    def _compare_timers(
        self, lane: TimerLane, biz_type: BizType, names: Sequence[str], difference: Difference, *, key: str
    ) -> None:
        ids = {UUID(name) for name in names}
        rows = Job.objects.using(self._using).filter(id__in=ids, biz_type_id=biz_type.id, status=Status.PENDING)
        # One of another flow key counts as stray too: the job's timer is with its own.
        rows = rows.filter(flow_key=key)
        stray = ids.difference(rows.values_list("id", flat=True))
        difference.timers += len(ids)
        difference.stray += sorted(stray)
        if self._mend and stray:
            lane.cancel(biz_type.queue, [str(job_id) for job_id in stray], key=key)

    def _biz_types(self) -> list[BizType]:
        return list(BizType.objects.using(self._using).select_related("tenant"))
