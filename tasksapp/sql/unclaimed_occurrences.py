"""Occurrences of a series that no worker has taken yet: an edit deletes or rewrites them, and an outage moves them.

They are never cancelled: a row that stays, cancelled, holds the place of its occurrence for ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import F, Q, QuerySet

from tasksapp.models import Job, Transition

_PENDING = Transition.CLAIM.source


class Touched(NamedTuple):
    """An occurrence that was deleted or moved, as far as its timer must be known."""

    id: UUID
    priority: int
    flow_key: str


def unclaimed(series_ids: Iterable[int], *, using: str) -> QuerySet[Job]:
    """The occurrences of the series that no worker has taken. Rows that one takes at this moment are left out."""
    rows = Job.objects.using(using).filter(series_id__in=list(series_ids), occurrence_at__isnull=False)
    untouched = Q(status=_PENDING, attempts=0, system_errors=0, redrives=0, lease_until=None)
    return rows.filter(untouched).order_by("id").select_for_update(skip_locked=True, no_key=True)


def delete_unclaimed(rows: QuerySet[Job]) -> list[Touched]:
    """Deletes those rows of :func:`unclaimed`, and gives back what their timers are found by."""
    found = [Touched(*row) for row in rows.values_list("id", "priority", "flow_key")]
    if found:
        # Nothing refers to a job by a foreign key, and attempts there are none.
        gone = Job.objects.using(rows.db).filter(id__in=[one.id for one in found], status=_PENDING)
        gone._raw_delete(rows.db)
    return found


def redate_unclaimed(rows: QuerySet[Job], *, now: datetime) -> list[Touched]:
    """Has those rows of :func:`unclaimed` be due now, and gives back what their timers are found by."""
    found = [Touched(*row) for row in rows.values_list("id", "priority", "flow_key")]
    if found:
        due = Job.objects.using(rows.db).filter(id__in=[one.id for one in found], status=_PENDING)
        due.update(due_at=now, next_run_at=now, version=F("version") + 1, updated_at=now)
    return found


def rewrite_unclaimed(rows: QuerySet[Job], *, now: datetime, **content: Any) -> int:
    """Gives those rows of :func:`unclaimed` the content; how many they were."""
    ids = list(rows.values_list("id", flat=True))
    found = Job.objects.using(rows.db).filter(id__in=ids, status=_PENDING)
    return found.update(**content, version=F("version") + 1, updated_at=now)
