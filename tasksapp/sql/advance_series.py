"""How far series are made, for many in one statement."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import connections
from django.db.models import F

from tasksapp.models import Series


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
