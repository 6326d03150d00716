"""Jobs of series: many are inserted in one statement; what no worker has taken yet is deleted, moved or rewritten.

Jobs without a series have no such columns to pay for. Occurrences are never cancelled: a row that stays, cancelled,
holds the place of its occurrence for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connections
from django.db.models import F, Q, QuerySet

from tasksapp.models import AnswerLink, Job, NewJob, Series, Transition
from tasksapp.sql.insert_jobs import CONSTANT, GIVEN, copy_jobs


class NewOccurrence(NamedTuple):
    """A job that a series makes; ``occurrence_at`` is None for one that is triggered by hand."""

    job: NewJob
    series_id: int
    occurrence_at: datetime | None


def insert_occurrences(rows: Sequence[NewOccurrence], *, now: datetime, created_by: str = "", using: str) -> None:
    """Inserts pending jobs of series, as part of the caller's transaction."""
    connection = connections[using]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql" and hasattr(cursor, "copy"):  # psycopg2 has another copy
            shared = (now, now, created_by, *CONSTANT.values())
            copied = ((*row.job, row.job.due_at, *shared, row.series_id, row.occurrence_at) for row in rows)
            copy_jobs((*GIVEN, *CONSTANT, "series_id", "occurrence_at"), copied, cursor=cursor)
            return
    made = []
    for row in rows:
        job = Job.of(row.job, now=now, created_by=created_by)
        job.series_id, job.occurrence_at = row.series_id, row.occurrence_at
        made.append(job)
    Job.objects.using(using).bulk_create(made, batch_size=500)


_PENDING = Transition.CLAIM.source


class Touched(NamedTuple):
    """An occurrence that was deleted or moved, as far as its timer must be known."""

    id: UUID
    priority: int
    flow_key: str
    place: int | None


def unclaimed(series_ids: Iterable[int], *, using: str) -> QuerySet[Job]:
    """The occurrences of the series that no worker has taken. Rows that one takes at this moment are left out."""
    rows = Job.objects.using(using).filter(series_id__in=list(series_ids), occurrence_at__isnull=False)
    untouched = Q(status=_PENDING, attempts=0, system_errors=0, redrives=0, lease_until=None)
    return rows.filter(untouched).order_by("id").select_for_update(skip_locked=True, no_key=True)


def delete_unclaimed(rows: QuerySet[Job]) -> list[Touched]:
    """Deletes those rows of :func:`unclaimed`, and gives back what their timers are found by."""
    found = [Touched(*row) for row in rows.values_list(*Touched._fields)]
    if found:
        # Nothing refers to a job by a foreign key, and attempts there are none; but it may have links.
        ids = [one.id for one in found]
        Job.objects.using(rows.db).filter(id__in=ids, status=_PENDING)._raw_delete(rows.db)
        AnswerLink.objects.using(rows.db).filter(job_id__in=ids)._raw_delete(rows.db)
    return found


def redate_unclaimed(rows: QuerySet[Job], *, now: datetime) -> list[Touched]:
    """Has those rows of :func:`unclaimed` be due now, and gives back what their timers are found by."""
    found = [Touched(*row) for row in rows.values_list(*Touched._fields)]
    if found:
        due = Job.objects.using(rows.db).filter(id__in=[one.id for one in found], status=_PENDING)
        due.update(due_at=now, next_run_at=now, version=F("version") + 1, updated_at=now)
    return found


def rewrite_unclaimed(rows: QuerySet[Job], *, now: datetime, **content: Any) -> int:
    """Gives those rows of :func:`unclaimed` the content; how many they were."""
    ids = list(rows.values_list("id", flat=True))
    found = Job.objects.using(rows.db).filter(id__in=ids, status=_PENDING)
    return found.update(**content, version=F("version") + 1, updated_at=now)


class Advance(NamedTuple):
    """How far a series is made now: so many more, up to the next occurrence, and when there is more to make."""

    series_id: int
    made: int
    next_occurrence_at: datetime | None
    make_at: datetime | None


_ADVANCE = """
UPDATE delayhub_series s
SET made = s.made + a.made, next_occurrence_at = a.next_occurrence_at, make_at = a.make_at
FROM unnest(%s::bigint[], %s::int[], %s::timestamptz[], %s::timestamptz[]) AS a (id, made, next_occurrence_at, make_at)
WHERE s.id = a.id
"""


def advance_series(advances: Sequence[Advance], *, using: str) -> None:
    """Writes how far the series are made; the caller has locked them."""
    if not advances:
        return
    if connections[using].vendor == "postgresql":
        with connections[using].cursor() as cursor:
            cursor.execute(_ADVANCE, [list(column) for column in zip(*advances, strict=True)])
        return
    for advance in advances:
        Series.objects.using(using).filter(id=advance.series_id).update(
            made=F("made") + advance.made, next_occurrence_at=advance.next_occurrence_at, make_at=advance.make_at
        )
