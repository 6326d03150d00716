"""First jobs: in an order that an index has only for each biz type, or for each status; those that are due; and any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connections
from django.db.models import F, QuerySet
from django.db.models.expressions import RawSQL
from django.utils import timezone

from tasksapp.models import Job, Status, Transition
from tasksapp.sql.read_values import read_moment, read_uuid

#: SELECTs that SQLite takes in one statement are 500.
MOST_PARTS = 400


def first_jobs(
    rows: QuerySet[Job], *, part: str, parts: Sequence[Any], order: str, limit: int, using: str
) -> list[tuple[datetime | None, UUID]]:
    """The first rows of all parts, in their order: the time of each that the order goes by, None for ids, and its id.

    One SELECT over all parts would sort every row that matches: 0.5 s for 200 000 of a million. So each part gives its
    first ones from the index, and only those are sorted.

    Args:
        rows: the rows, without an order.
        part: the column that begins the index: ``biz_type_id`` or ``status``.
        parts: its values.
        order: the column that the index goes on with, ``-`` before it for the last ones first; ties go by the id.
        limit: so many, at most.
        using: the database.
    """
    if not parts:
        return []
    column, sign = order.lstrip("-"), "-" if order.startswith("-") else ""
    keys = [order] if column == "id" else [order, f"{sign}id"]
    ordered = rows.using(using).order_by(*keys)
    if len(parts) == 1:
        return first_of(ordered.filter(**{part: parts[0]}), column=column, limit=limit)
    if connections[using].vendor == "postgresql":
        sql, values = _lateral(ordered, part=part, parts=parts, column=column, limit=limit, using=using)
    else:
        sql, values = _union(ordered, part=part, parts=parts[:MOST_PARTS], column=column, limit=limit, using=using)
    direction = " DESC" if sign else ""
    statement = f"{sql} ORDER BY found.moment{direction}, found.id{direction} LIMIT {int(limit)}"
    with connections[using].cursor() as cursor:
        cursor.execute(statement, values)
        rows_found = cursor.fetchall()
    return [(None if column == "id" else read_moment(moment), read_uuid(found)) for found, moment in rows_found]


def first_of(ordered: QuerySet[Job], *, column: str, limit: int) -> list[tuple[datetime | None, UUID]]:
    """The same of rows that have that order already."""
    if column == "id":
        return [(None, job_id) for job_id in ordered.values_list("id", flat=True)[:limit]]
    return list(ordered.values_list(column, "id")[:limit])


def _lateral(
    rows: QuerySet[Job], *, part: str, parts: Sequence[Any], column: str, limit: int, using: str
) -> tuple[str, list[Any]]:
    sql, values = _compiled(rows.filter(**{part: RawSQL("parts.value", ())}), column, limit=limit, using=using)
    kind = "text" if part == "status" else "bigint"
    return (
        f"SELECT found.id, found.moment FROM unnest(%s::{kind}[]) AS parts(value) CROSS JOIN LATERAL ({sql}) AS found",  # noqa: S608  made by the ORM
        [list(parts), *values],
    )


def _union(
    rows: QuerySet[Job], *, part: str, parts: Sequence[Any], column: str, limit: int, using: str
) -> tuple[str, list[Any]]:
    selects, every = [], []
    for value in parts:
        sql, values = _compiled(rows.filter(**{part: value}), column, limit=limit, using=using)
        selects.append(f"SELECT * FROM ({sql})")  # noqa: S608  made by the ORM
        every += values
    return f"SELECT found.id, found.moment FROM ({' UNION ALL '.join(selects)}) AS found", every  # noqa: S608  the same


def _compiled(rows: QuerySet[Job], column: str, *, limit: int, using: str) -> tuple[str, list[Any]]:
    """The SELECT of the first rows: their ids, and ``moment``, the column that they are ordered by."""
    chosen = rows.annotate(moment=F(column)).values_list("id", "moment")[:limit]
    sql, values = chosen.query.get_compiler(using).as_sql()
    return sql, list(values)


#: The statuses whose jobs have an index by biz type, or are few; and the order of that index.
_ORDERS = {
    Transition.CLAIM.source: "next_run_at",
    Transition.SUCCEED.source: "lease_until",
    Transition.REDRIVE.source: "finished_at",
}
_UNFINISHED = (Transition.CLAIM.source, Transition.SUCCEED.source)


def has_jobs(biz_type_id: int, *, using: str) -> bool:
    """Whether the biz type has a job."""
    finished = Job.objects.using(using).filter(biz_type_id=biz_type_id, finished_at__isnull=False)
    if finished.order_by("finished_at").values_list("id", flat=True)[:1]:
        return True
    return any(has_jobs_in(status, biz_type_id, using=using) for status in _UNFINISHED)


def has_jobs_in(status: Status, biz_type_id: int, *, using: str) -> bool:
    """Whether the biz type has a job that is pending, running or dead."""
    rows = Job.objects.using(using).filter(status=status).order_by(_ORDERS[status])
    if _ORDERS[status] == "lease_until":
        # The index of those that run has no biz types. Of a sum PostgreSQL finds nothing in indexes that begin with
        # them: before there are statistics it would read all that the biz type has ever had.
        rows = rows.alias(kind=F("biz_type_id") + 0).filter(kind=biz_type_id)
    else:
        rows = rows.filter(biz_type_id=biz_type_id)
    return bool(rows.values_list("id", flat=True)[:1])


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
    return [job_id for _, job_id in found[:limit]]


def database_now_ms(*, using: str) -> int:
    """The time by the clock of the database, Unix ms; SQLite has that of this machine."""
    connection = connections[using]
    if connection.vendor != "postgresql":
        return int(timezone.now().timestamp() * 1000)
    with connection.cursor() as cursor:
        cursor.execute("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint")
        return int(cursor.fetchone()[0])
