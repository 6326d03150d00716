"""Planner: counts the jobs of an operation before a person or a caller starts it.

All at once where that is fast, else some pages in each turn.
"""

from __future__ import annotations

from datetime import timedelta

from delayhub.clock import Clock, moment
from tasksapp.models import BizType, Operation
from tasksapp.operations.backfill import pages_of, schedule_mark
from tasksapp.operations.cursor import Cursor, Walk, unix_ms
from tasksapp.operations.pages import biz_types_with_jobs
from tasksapp.operations.row import PageSize, ended, saved
from tasksapp.operations.verbs import BACKFILL

State = Operation.State
#: Counting that takes longer than this fails: the filter is too wide for what it looks at.
LONGEST = timedelta(minutes=10)


class Planner:
    """Counts for one database.

    Args:
        using: the database.
        clock: Redis' time, which the plan is dated by.
    """

    def __init__(self, *, using: str, clock: Clock) -> None:
        self._using = using
        self._clock = clock
        self._size = PageSize(clock)

    def run_once(self, operation: Operation, *, until: float) -> None:
        """One turn: counts until that moment, in monotonic seconds, and one page at least.

        Raises Superseded where somebody stopped it meanwhile.
        """
        cursor = Cursor.of(operation)
        now_ms = self._clock.now_ms()
        if operation.planned_at is None:
            operation.planned_at, operation.planned = moment(now_ms), 0
            cursor.walks = [Walk(biz_type=one) for one in biz_types_with_jobs(operation, using=self._using)]
            if operation.verb == BACKFILL:
                cursor.schedule = schedule_mark(operation, using=self._using)
        counted = operation.planned or 0
        max_ages = dict(
            BizType.objects.using(self._using)
            .filter(id__in=[walk.biz_type for walk in cursor.walks if not walk.over])
            .values_list("id", "max_age")
        )
        for walk in cursor.walks:
            pages = pages_of(operation, biz_type_id=walk.biz_type, using=self._using)
            max_age = max_ages.get(walk.biz_type)
            at_once = pages.count_at_once(max_age=max_age) if walk.after is None and not walk.over else None
            while not walk.over:
                page = at_once
                if page is None:
                    with self._size.measured() as rows:
                        page = pages.count(walk, rows=rows, max_age=max_age)
                counted += page.jobs
                cursor.ages = cursor.ages.plus(page.ages)
                walk.changed += page.jobs
                walk.after, walk.over = page.after, page.is_last
                if self._clock.monotonic() >= until:
                    break
            if self._clock.monotonic() >= until:
                break
        cursor.turn_at = now_ms
        columns = {"planned_at": operation.planned_at, "planned": counted}
        if all(walk.over for walk in cursor.walks):
            cursor.walks = [Walk(biz_type=walk.biz_type) for walk in cursor.walks if walk.changed]
            columns["state"] = State.PLANNED
        elif now_ms - unix_ms(operation.planned_at) > LONGEST.total_seconds() * 1000:
            why = "counting took longer than 10 minutes: name a biz type, or narrow the filter"
            ended(operation, State.FAILED, why=why, cursor=cursor, using=self._using, clock=self._clock)
            return
        saved(operation, cursor, using=self._using, clock=self._clock, **columns)
