"""Jobs that are due, by their rows; and the database's clock."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from django.db import connections
from django.utils import timezone

from tasksapp.models import Job, Transition
from tasksapp.sql.first_jobs import first_jobs


def due_jobs(limits: Mapping[int, int], *, until: datetime, limit: int, using: str) -> list[UUID]:
    """The ids of jobs that are pending and due, those that were due first before the others.

    They are found by the index of each biz type: the plain order over all of them would read every row that is due.

    Args:
        limits: by the id of a biz type, how many of its jobs are wanted; of others none are.
        until: what was to run by then is due.
        limit: how many at most.
        using: the database.
    """
    rows = Job.objects.filter(status=Transition.CLAIM.source, next_run_at__lte=until)
    few = {key: wanted for key, wanted in limits.items() if wanted < limit}
    many = [key for key in limits if key not in few]
    found = first_jobs(rows, part="biz_type_id", parts=many, order="next_run_at", limit=limit, using=using)
    for key, wanted in few.items():
        found += first_jobs(rows, part="biz_type_id", parts=[key], order="next_run_at", limit=wanted, using=using)
    return found[:limit]


def database_now_ms(*, using: str) -> int:
    """The time by the clock of the database, Unix ms; SQLite has that of this machine."""
    connection = connections[using]
    if connection.vendor != "postgresql":
        return int(timezone.now().timestamp() * 1000)
    with connection.cursor() as cursor:
        cursor.execute("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint")
        return int(cursor.fetchone()[0])
