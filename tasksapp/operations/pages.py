"""Pages: the jobs that an operation is for, in the order of an index, a bounded number of rows looked at for each.

A page ends after so many rows of the index, whether or not they match: a filter that matches one row in a million must
not read a million rows at once. Where a page begins is kept in the operation's cursor.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID

from django.db.models import Q, QuerySet

from tasksapp.jobs.job_filter import JobFilter
from tasksapp.models import BizType, Job, Operation, Status
from tasksapp.operations.changes import FoundJob, change
from tasksapp.operations.cursor import Ages, Place, Walk, count_with_ages
from tasksapp.operations.starter import biz_types_of
from tasksapp.operations.verbs import job_verb, source_of
from tasksapp.sql.driver.deadline import TookTooLong, within
from tasksapp.sql.first_jobs import has_jobs_in
from tasksapp.sql.look_in_bodies import beyond
from tasksapp.sql.make_live import no_other_is_live
from tasksapp.sql.tombstones import not_resolved

Found = TypeVar("Found")

#: Rows that one page looks at.
LOOKED_ROWS = 20_000
#: All of them are counted by one statement if that takes no longer.
AT_ONCE_SECONDS = 0.5


class Locked(NamedTuple, Generic[Found]):
    """What a page gave.

    Args:
        jobs: matching jobs, locked by this transaction; or occurrences that no one else makes before it commits.
        after: where the next page begins.
        is_last: whether no rows come after it.
    """

    jobs: Sequence[Found]
    after: Place
    is_last: bool


class Counted(NamedTuple):
    """How many jobs of a page match, how old they are, and where the next page begins; see :class:`Locked`."""

    jobs: int
    after: Place
    is_last: bool
    ages: Ages


class Pages(ABC, Generic[Found]):
    """What an operation walks over, of one biz type, page by page."""

    #: Whether pages pass over what others hold at that moment, so that another pass begins where this one began.
    passes_over = True

    def count_at_once(self, *, max_age: timedelta | None = None) -> Counted | None:
        """What all pages give, by one statement; None where it would take too long, and they are counted one by one.

        Args:
            max_age: that of the biz type.
        """
        del max_age
        return None

    @abstractmethod
    def count(self, walk: Walk, *, rows: int, max_age: timedelta | None = None) -> Counted:
        """How many jobs of the next page are to be changed, or made.

        Args:
            walk: where the page begins.
            rows: how many rows it looks at.
            max_age: that of the biz type.
        """

    @abstractmethod
    def lock(self, walk: Walk, *, most: int, rows: int) -> Locked[Found]:
        """The next page.

        Args:
            walk: where it begins.
            most: how much it may give.
            rows: how many rows it looks at.
        """

    @abstractmethod
    def change(self, found: Sequence[Found], biz_type: BizType, *, times: Sequence[float], now: datetime) -> int:
        """How many jobs were changed, or made. The caller has the transaction of ``lock`` open.

        Args:
            found: what the page gave.
            biz_type: their biz type.
            times: when each job is to start, in Unix ms; empty where the verb says no time.
            now: the time.
        """

    def left(self, *, most: int) -> list[UUID]:
        """What is still there after a whole pass, ``most`` at most: what others have locked."""
        del most
        return []

    def left_out(self, *, most: int) -> int:
        """How much would match and is left out all the same; it counts no further than ``most``."""
        del most
        return 0


class JobPages(Pages[FoundJob]):
    """The jobs of one biz type that an operation changes.

    Args:
        operation: with ``planned_at``: jobs that were changed later do not match.
        biz_type_id: the biz type.
        using: the database.
    """

    def __init__(self, operation: Operation, *, biz_type_id: int, using: str) -> None:
        wanted = JobFilter.parse(operation.job_filter)
        source = job_verb(operation.verb).source
        jobs = Job.objects.using(using)
        self._operation, self._using = operation, using
        self._source, self._planned_at = source, operation.planned_at or operation.created_at
        self._by_time = False
        #: The rows that the pages look at: all of one stretch of one index.
        if wanted.ids:
            self._scope = jobs.filter(id__in=wanted.ids)
        elif wanted.operation is not None:
            self._scope = jobs.filter(operation_id=wanted.operation)
        elif wanted.biz_id and not wanted.biz_id.endswith("*"):
            self._scope = jobs.filter(biz_type_id=biz_type_id, biz_id=wanted.biz_id)
        elif source == Status.DEAD:
            self._scope = jobs.filter(status=source)
        else:
            self._by_time = True
            self._scope = _narrowed(jobs.filter(biz_type_id=biz_type_id, status=source), wanted)
        matching = replace(wanted, biz_type="").apply(self._scope)
        # The rest of the filter is checked for each page: a job that changes after the plan is left alone.
        self._matching = matching.filter(biz_type_id=biz_type_id, status=source, updated_at__lte=operation.planned_at)
        self._left_out: QuerySet[Job] | None = None
        if operation.verb == Operation.VerbName.REDRIVE:
            self._leave_out(BizType.objects.using(using).filter(id=biz_type_id).first())
        self._order = ("next_run_at", "id") if self._by_time else ("id",)

    def _leave_out(self, biz_type: BizType | None) -> None:
        """Leaves the dead jobs out that cannot be live again."""
        all_of_them = self._matching
        if biz_type is not None and biz_type.has_tombstones:
            # Their claims would call them off again; a person may lift the resolve and redrive one.
            self._matching = self._matching.filter(not_resolved())
        if biz_type is not None and biz_type.one_live != BizType.OneLive.ANY:
            self._matching = self._matching.filter(no_other_is_live())
        if self._matching is not all_of_them:
            self._left_out = all_of_them

    def left_out(self, *, most: int) -> int:
        """How many jobs would match and cannot be live again: their key is resolved, or another job of it is live."""
        if self._left_out is None:
            return 0
        return self._left_out.order_by()[:most].count() - self._matching.order_by()[:most].count()

    def count(self, walk: Walk, *, rows: int = LOOKED_ROWS, max_age: timedelta | None = None) -> Counted:
        """How many jobs of the next page match."""
        end = self._end(walk.after, rows=rows)
        return self._counted(self._between(walk.after, end), end, max_age=max_age)

    def count_at_once(self, *, max_age: timedelta | None = None) -> Counted | None:
        """How many jobs match, by one statement; None where that takes longer than ``AT_ONCE_SECONDS``.

        It may read the table in its own order, which is ten times as fast as pages where that is large.
        """
        try:
            with within(AT_ONCE_SECONDS, using=self._using):
                return self._counted(self._matching, None, max_age=max_age)
        except TookTooLong:
            return None

    def lock(self, walk: Walk, *, most: int, rows: int = LOOKED_ROWS) -> Locked[FoundJob]:
        """The matching jobs of the next page, locked; those that others have locked are passed over."""
        end = self._end(walk.after, rows=rows)
        found: Any = (
            self._between(walk.after, end)
            .order_by(*self._order)
            .select_for_update(skip_locked=True, no_key=True, of=("self",))
            .values_list(*FoundJob._fields, "next_run_at")[:most]
        )
        locked = list(found)
        if len(locked) == most and most:
            job_id, *_, next_run_at = locked[-1]
            return Locked([FoundJob(*row[:-1]) for row in locked], self._place(next_run_at, job_id), is_last=False)
        return Locked([FoundJob(*row[:-1]) for row in locked], end, end is None)

    def change(self, found: Sequence[FoundJob], biz_type: BizType, *, times: Sequence[float], now: datetime) -> int:
        """How many jobs were changed."""
        return change(self._operation, found, biz_type, times=times, now=now, using=self._using)

    def left(self, *, most: int) -> list[UUID]:
        """Matching jobs that are still there."""
        return list(self._matching.order_by(*self._order).values_list("id", flat=True)[:most])

    def _counted(self, found: QuerySet[Job], end: Place, *, max_age: timedelta | None) -> Counted:
        jobs, ages = count_with_ages(found, status=self._source, now=self._planned_at, max_age=max_age)
        return Counted(jobs, end, end is None, ages)

    def _end(self, after: Place, *, rows: int) -> Place:
        """The place of the last row that a page looks at; None where it comes to the end."""
        looked: Any = self._after(self._scope, after).order_by(*self._order)
        last = list(looked.values_list("next_run_at", "id")[rows - 1 : rows] if self._by_time else _ids(looked, rows))
        return self._place(*last[0]) if last else None

    def _between(self, after: Place, end: Place) -> QuerySet[Job]:
        found = self._after(self._matching, after)
        if end is None:
            return found
        if not self._by_time:
            return found.filter(id__lte=UUID(end[-1]))
        at, job_id = datetime.fromisoformat(end[0]), UUID(end[1])
        return found.filter(next_run_at__lte=at).filter(Q(next_run_at__lt=at) | Q(id__lte=job_id))

    def _after(self, rows: QuerySet[Job], after: Place) -> QuerySet[Job]:
        if after is None:
            return rows
        moment = datetime.fromisoformat(after[0]) if self._by_time else None
        return rows.filter(beyond(self._order[0], moment, UUID(after[-1])))

    def _place(self, next_run_at: datetime | None, job_id: UUID) -> Place:
        return [next_run_at.isoformat(), str(job_id)] if self._by_time and next_run_at else [str(job_id)]


def biz_types_with_jobs(operation: Operation, *, using: str) -> list[int]:
    """The ids of the biz types that may have jobs for the operation, in order."""
    if operation.biz_type_id is not None:
        return [operation.biz_type_id]
    wanted, source = JobFilter.parse(operation.job_filter), source_of(operation.verb)
    if wanted.biz_type:
        return []  # it was deleted, and is not to be taken for all of them
    jobs = Job.objects.using(using)
    ids = list(biz_types_of(operation, using=using).order_by("id").values_list("id", flat=True))
    if wanted.ids:
        found = set(jobs.filter(id__in=wanted.ids).values_list("biz_type_id", flat=True))
        return [one for one in ids if one in found]
    # A question for each: one statement for all would be planned as a walk over all rows.
    return [one for one in ids if source is not None and has_jobs_in(source, one, using=using)]


def _narrowed(rows: QuerySet[Job], wanted: JobFilter) -> QuerySet[Job]:
    """Only the stretch of the index that the filter is about."""
    if wanted.next_from is not None:
        rows = rows.filter(next_run_at__gte=wanted.next_from)
    if wanted.next_until is not None:
        rows = rows.filter(next_run_at__lt=wanted.next_until)
    return rows


def _ids(rows: Any, count: int) -> list[tuple[None, UUID]]:
    return [(None, job_id) for job_id in rows.values_list("id", flat=True)[count - 1 : count]]
