"""Pulses: counts are added to them and to their totals, minutes summed into longer stretches, and old ones deleted.

Many processes add at once, in the same order of rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connections, transaction

from tasksapp.models import Pulse

#: Rows of one statement.
BATCH_ROWS = 500
MINUTE = 60

#: PostgreSQL and SQLite both. Rows are locked in the order in which they stand here; where all processes keep to the
#: same order, none waits for one that waits for it.
_ADD = """
INSERT INTO delayhub_pulse (at, biz_type_id, span_seconds, kind, key, count) VALUES {}
ON CONFLICT (span_seconds, at, biz_type_id, kind, key) DO UPDATE SET count = delayhub_pulse.count + excluded.count
"""
_ADD_TO_TOTALS = """
INSERT INTO delayhub_pulse_total (biz_type_id, kind, key, count) VALUES {}
ON CONFLICT (biz_type_id, kind, key) DO UPDATE SET count = delayhub_pulse_total.count + excluded.count
"""


class PulseKey(NamedTuple):
    """What is counted: the minute, the biz type, and what happened. The order of the fields is that of the locks."""

    at: datetime
    biz_type_id: int
    kind: str
    key: str


def add_pulses(counts: Mapping[PulseKey, int], *, using: str) -> None:
    """Adds the counts to those of their minutes and to the totals, ``BATCH_ROWS`` at most, in one transaction.

    Raises IntegrityError where a biz type is gone.
    """
    assert len(counts) <= BATCH_ROWS
    if not counts:
        return
    connection = connections[using]
    values: list[Any] = []
    for key in sorted(counts):
        at = connection.ops.adapt_datetimefield_value(key.at)
        values += [at, key.biz_type_id, MINUTE, key.kind, key.key, counts[key]]
    with transaction.atomic(using=using):
        with connection.cursor() as cursor:
            cursor.execute(_ADD.format(", ".join(["(%s, %s, %s, %s, %s, %s)"] * len(counts))), values)
        add_to_totals(counts, using=using)


def add_to_totals(counts: Mapping[PulseKey, int], *, using: str) -> None:
    """Adds the counts of minutes to the totals only, by one statement. Raises what :func:`add_pulses` does."""
    totals: dict[tuple[int, str, str], int] = defaultdict(int)
    for key, count in counts.items():
        totals[key[1:]] += count
    values = [value for key in sorted(totals) for value in (*key, totals[key])]
    with connections[using].cursor() as cursor:
        cursor.execute(_ADD_TO_TOTALS.format(", ".join(["(%s, %s, %s, %s)"] * len(totals))), values)


#: Rows that one statement deletes.
DELETED_ROWS = 5_000

#: Sets, never adds: summing again gives the same, and finds what came late.
_FOLD = """
INSERT INTO delayhub_pulse (at, biz_type_id, span_seconds, kind, key, count)
SELECT %s, biz_type_id, %s, kind, key, SUM(count) FROM delayhub_pulse
WHERE span_seconds = 60 AND at >= %s AND at < %s
GROUP BY biz_type_id, kind, key
ON CONFLICT (span_seconds, at, biz_type_id, kind, key) DO UPDATE SET count = excluded.count
WHERE delayhub_pulse.count <> excluded.count
"""


def fold_pulses(*, begin: datetime, end: datetime, using: str) -> int:
    """Sums the minutes of a stretch into one row for each counter; how many rows that were."""
    connection = connections[using]
    first, last = (connection.ops.adapt_datetimefield_value(at) for at in (begin, end))
    span = round((end - begin).total_seconds())
    with connection.cursor() as cursor:
        cursor.execute(_FOLD, [first, span, first, last])
        return int(cursor.rowcount)


def delete_pulses(span_seconds: int, *, before: datetime, using: str) -> int:
    """Deletes some stretches of that length that began before then, the oldest first; how many rows that were."""
    pulses = Pulse.objects.using(using).filter(span_seconds=span_seconds, at__lt=before)
    ids = list(pulses.order_by("at").values_list("id", flat=True)[:DELETED_ROWS])
    return Pulse.objects.using(using).filter(id__in=ids).delete()[0] if ids else 0
