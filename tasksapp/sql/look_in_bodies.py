"""Looks for a text in the bodies of jobs, batch by batch in their order, until there is enough or the time is over.

And how many bytes bodies have, without reading them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connections
from django.db.models import BinaryField, F, Func, IntegerField, Q, QuerySet, Value
from django.db.models.functions import Cast, Coalesce, Length

from tasksapp.models import Job
from tasksapp.models.sealed_value import MARK
from tasksapp.sql.driver.deadline import TookTooLong, within
from tasksapp.sql.read_values import read_moment, read_uuid

#: Rows of each look: a small one first, so that what is new is found at once; together what one search reads.
BATCHES = (5_000, 20_000, 75_000)


class BodyLook(NamedTuple):
    """What was found.

    Args:
        ids: jobs whose bodies hold the text, in their order.
        looked_at: how many bodies were read.
        is_whole: whether these were all.
        encrypted: how many of them are encrypted at rest, so that nothing can be found in them.
    """

    ids: list[UUID]
    looked_at: int
    is_whole: bool
    encrypted: int = 0


class _Batch(NamedTuple):
    ids: list[UUID]
    looked_at: int
    last: tuple[datetime, UUID] | None
    encrypted: int = 0


def look_in_bodies(rows: QuerySet[Job], text: str, *, order: str, limit: int, seconds: float, using: str) -> BodyLook:
    """The first jobs whose bodies hold the text, letter by letter.

    Args:
        rows: the jobs of one biz type, without an order.
        text: what is looked for.
        order: the column by which an index has them, ``-`` before it for the last ones first.
        limit: so many jobs are enough.
        seconds: how long the database may look, in all.
        using: the database.
    """
    found: list[UUID] = []
    looked_at, encrypted, after = 0, 0, None
    end = time.monotonic() + seconds
    for size in BATCHES:
        left = end - time.monotonic()
        if left <= 0:
            break
        try:
            with within(left, using=using):
                batch = _look(rows, text, order=order, size=size, after=after, using=using)
        except TookTooLong:
            break
        found += batch.ids
        looked_at += batch.looked_at
        encrypted += batch.encrypted
        after = batch.last
        if batch.looked_at < size:
            return BodyLook(found[:limit], looked_at, len(found) <= limit, encrypted)
        if len(found) >= limit:
            break
    return BodyLook(found[:limit], looked_at, False, encrypted)


def beyond(order: str, moment: Any, job_id: UUID) -> Q:
    """What comes behind that row in the order, whose ties go by the id."""
    column, way = order.lstrip("-"), "lt" if order.startswith("-") else "gt"
    if column == "id":
        return Q(**{f"id__{way}": job_id})
    # The first condition lets an index begin there, the second passes over what was read.
    return Q(**{f"{column}__{way}e": moment}) & (Q(**{f"{column}__{way}": moment}) | Q(**{f"id__{way}": job_id}))


def _look(
    rows: QuerySet[Job], text: str, *, order: str, size: int, after: tuple[datetime, UUID] | None, using: str
) -> _Batch:
    column, sign = order.lstrip("-"), "-" if order.startswith("-") else ""
    if after is not None:
        rows = rows.filter(beyond(order, *after))
    chosen = rows.using(using).order_by(order, f"{sign}id").annotate(moment=F(column))
    inner, values = (
        chosen.values_list("id", "moment", "body", "raw", "request")[:size].query.get_compiler(using).as_sql()
    )
    # Most bodies are JSON, and their exact bytes NULL: so is the second part then.
    holds = (
        "(strpos(body, %s) > 0 OR position(convert_to(%s, 'UTF8') IN raw) > 0)"
        if connections[using].vendor == "postgresql"
        else "(instr(body, %s) > 0 OR instr(raw, CAST(%s AS BLOB)) > 0)"
    )
    direction, sealed = " DESC" if sign else "", f"substr(request, 1, 1) = '{MARK}'"
    statement = f"""
        SELECT id, moment, hit, total, encrypted FROM (
            SELECT id, moment, hit, count(*) OVER () AS total, sum(sealed) OVER () AS encrypted,
                row_number() OVER (ORDER BY moment{direction}, id{direction}) AS number
            FROM (
                SELECT id, moment, NOT {sealed} AND {holds} AS hit, CASE WHEN {sealed} THEN 1 ELSE 0 END AS sealed
                FROM ({inner}) AS first
            ) AS looked
        ) AS numbered
        WHERE hit OR number = total ORDER BY number
    """  # noqa: S608  made by the ORM, and our own constants
    with connections[using].cursor() as cursor:
        cursor.execute(statement, [text, text, *values])
        kept = cursor.fetchall()
    if not kept:
        return _Batch([], 0, None)
    last_id, moment, _, total, encrypted = kept[-1]
    ids = [read_uuid(job_id) for job_id, _, hit, *_ in kept if hit]
    return _Batch(ids, total, (read_moment(moment), read_uuid(last_id)), encrypted)


def body_sizes(ids: Sequence[UUID], *, using: str) -> dict[UUID, int]:
    """By their ids, as the bodies of those jobs are stored; exact bytes count too."""
    text, raw = F("body"), F("raw")
    bytes_of: list[Any]
    if connections[using].vendor == "postgresql":
        # It knows that without the value itself, which may lie elsewhere, compressed.
        bytes_of = [Func(each, function="octet_length", output_field=IntegerField()) for each in (text, raw)]
    else:
        bytes_of = [Length(Cast(text, BinaryField())), Length(raw)]
    size = bytes_of[0] + Coalesce(bytes_of[1], Value(0))
    return dict(Job.objects.using(using).filter(id__in=ids).annotate(size=size).values_list("id", "size"))
