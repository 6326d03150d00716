"""Lists of jobs for people: page by page in an order that an index serves, within a deadline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import router
from django.db.models import Q, QuerySet

from tasksapp.errors import InvalidJob
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.models import BizType, Job, Status
from tasksapp.sql.driver.deadline import TookTooLong, within
from tasksapp.sql.first_jobs import first_jobs, first_of
from tasksapp.sql.look_in_bodies import BodyLook, beyond, body_sizes, look_in_bodies

__all__ = ["BodyLook", "JobList", "Page", "Position", "TookTooLong"]

#: Rows of a page, and how long the database may look for them.
PAGE_ROWS = 50
DEADLINE_SECONDS = 2.0
#: How long it may count them: a page without a number is better than a page that waits.
COUNT_SECONDS = 0.2
#: No count of what matches goes further.
FARTHEST = 10_000


class Position(NamedTuple):
    """The last job of a page: the next page begins behind it.

    ``moment`` is its time in the order of the list; None where that order is the one of the ids.
    """

    moment: datetime | None
    id: UUID


class Page(NamedTuple):
    """Jobs in order, and where the next page begins; None where there is none.

    It begins behind the last one as the list had it: the job may be elsewhere, or gone, when it is read.
    """

    jobs: list[Job]
    next: Position | None


@dataclass(frozen=True, kw_only=True)
class JobList:
    """Jobs in an order.

    Args:
        job_filter: which jobs.
        statuses: where they stand; empty for any.
        order: the column, ``-`` before it for the last ones first: ``next_run_at``, ``finished_at``, ``lease_until``
            or ``id``.
        biz_types: all biz types with their tenants, or those of which jobs are shown.
        using: the database; None for the one that jobs are read from.
        condition: what else must hold for the rows.
        with_bodies: whether the jobs come with their bodies.
        seconds: how long the database may look for a page.
    """

    job_filter: JobFilter
    statuses: tuple[Status, ...]
    order: str
    biz_types: Sequence[BizType]
    using: str | None = None
    condition: Q = field(default_factory=Q)
    with_bodies: bool = False
    seconds: float = DEADLINE_SECONDS

    def page(self, *, after: Position | None = None, limit: int | None = None, most_bytes: int | None = None) -> Page:
        """The page behind that position, or the first one, of so many jobs at most. Raises TookTooLong.

        ``most_bytes`` bounds what their bodies have together; one job comes in any case.
        """
        rows, limit = self._rows(), limit or PAGE_ROWS
        if after is not None:
            rows = rows.filter(beyond(self.order, after.moment, after.id))
        with within(self.seconds, using=self.database):
            found = self._first(rows, limit + 1)
            chosen = found[:limit]
            if most_bytes is not None:
                chosen = self._fitting(chosen, most_bytes)
            jobs = self.read([each.id for each in chosen])
        return Page(jobs, chosen[-1] if len(found) > len(chosen) else None)

    def count(self) -> int | None:
        """How many there are, up to ``FARTHEST``; None where counting them takes too long."""
        rows = self._in_biz_type(self._rows()).order_by()
        if self.job_filter.biz_type and len(self.statuses) == 1 and self.order.endswith("finished_at"):
            # In the order of the index: else PostgreSQL reads the table from its beginning, past all other biz types.
            rows = rows.order_by(self.order)
        try:
            with within(COUNT_SECONDS, using=self.database):
                return rows[:FARTHEST].count()
        except TookTooLong:
            return None

    def look_for(self, text: str, *, limit: int | None = None) -> BodyLook:
        """The first jobs whose bodies hold the text, of a list of one biz type in an order of times.

        Raises InvalidJob where the biz type has masked fields: a search would tell whether a guess of a value is right.
        """
        for biz_type in self.biz_types:
            if biz_type.masked_fields and biz_type.label == self.job_filter.biz_type:
                told = f"bodies of {biz_type.code} cannot be searched: it has masked fields"
                raise InvalidJob("body", "masked", told)
        rows = self._in_biz_type(self._rows())
        if self.job_filter.biz_type and not self._kinds():
            return BodyLook([], 0, True)
        seconds, most = DEADLINE_SECONDS, limit or PAGE_ROWS
        return look_in_bodies(rows, text, order=self.order, limit=most, seconds=seconds, using=self.database)

    def read(self, ids: Sequence[UUID]) -> list[Job]:
        """Those jobs in that order, with their biz types."""
        kinds = {biz_type.id: biz_type for biz_type in self.biz_types}
        rows = Job.objects.using(self.database).filter(id__in=ids)
        found = {job.id: job for job in (rows if self.with_bodies else rows.defer("body", "raw"))}
        jobs = [found[job_id] for job_id in ids if job_id in found]
        for job in jobs:
            if job.biz_type_id in kinds:
                job.biz_type = kinds[job.biz_type_id]
        return jobs

    @property
    def database(self) -> str:
        """The database that is read."""
        return self.using or router.db_for_read(Job)

    def _rows(self) -> QuerySet[Job]:
        # By the id of the biz type, not by its code in another table: the index begins with it.
        chosen = replace(self.job_filter, biz_type="", status=None)
        rows = chosen.apply(Job.objects.using(self.database)).filter(self.condition)
        if self.order.endswith("finished_at"):
            # What the index has; PostgreSQL does not know that all ended jobs have a time.
            rows = rows.filter(finished_at__isnull=False)
        if len(self.statuses) == 1:
            return rows.filter(status=self.statuses[0])
        return rows.filter(status__in=self.statuses) if self.statuses else rows

    def _fitting(self, found: list[Position], most_bytes: int) -> list[Position]:
        sizes = body_sizes([each.id for each in found], using=self.database)
        size = 0
        for number, each in enumerate(found):
            size += sizes.get(each.id, 0)
            if size > most_bytes:
                return found[: max(1, number)]
        return found

    def _first(self, rows: QuerySet[Job], limit: int) -> list[Position]:
        part, parts = self._parts()
        if not self.biz_types or (part and not parts):
            return []
        column = self.order.lstrip("-")
        if not part:
            sign = "-" if self.order.startswith("-") else ""
            keys = [self.order] if column == "id" else [self.order, f"{sign}id"]
            found = first_of(rows.order_by(*keys), column=column, limit=limit)
        else:
            found = first_jobs(rows, part=part, parts=parts, order=self.order, limit=limit, using=self.database)
        return [Position(*each) for each in found]

    def _parts(self) -> tuple[str, list[Any]]:
        """What begins the index that has the order, and its values; '' where the order is that of an index itself."""
        column = self.order.lstrip("-")
        kinds = self._kinds()
        if self.job_filter.ids or column == "lease_until":
            return ("biz_type_id", kinds) if self.job_filter.biz_type else ("", [])
        if column != "id" or self.job_filter.biz_type or self.job_filter.biz_id:
            return "biz_type_id", kinds
        if len(self.statuses) > 1:
            return "status", [status.value for status in self.statuses]
        return "", []

    def _in_biz_type(self, rows: QuerySet[Job]) -> QuerySet[Job]:
        if not self.job_filter.biz_type:
            return rows
        return rows.filter(biz_type_id__in=self._kinds())

    def _kinds(self) -> list[int]:
        """The ids of the biz types of which there may be jobs in the list."""
        return [each.id for each in self.biz_types if self.job_filter.biz_type in {"", each.label}]
