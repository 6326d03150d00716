"""Folds pulses: sums minutes into longer stretches, and deletes what has been kept long enough."""

from __future__ import annotations

from datetime import datetime

from django.db import connections

from tasksapp.models import Pulse

#: Rows that one statement deletes.
DELETED_ROWS = 5_000

#: Sets, never adds: summing again gives the same, and finds what came late. Drains matter by the second, so no longer
#: stretch has them.
_FOLD = """
INSERT INTO delayhub_pulse (at, biz_type_id, span_seconds, kind, key, count)
SELECT %s, biz_type_id, %s, kind, key, SUM(count) FROM delayhub_pulse
WHERE span_seconds = 60 AND at >= %s AND at < %s AND kind <> %s
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
        cursor.execute(_FOLD, [first, span, first, last, Pulse.Kind.DRAIN.value])
        return int(cursor.rowcount)


def delete_pulses(span_seconds: int, *, before: datetime, using: str) -> int:
    """Deletes some stretches of that length that began before then, the oldest first; how many rows that were."""
    pulses = Pulse.objects.using(using).filter(span_seconds=span_seconds, at__lt=before)
    ids = list(pulses.order_by("at").values_list("id", flat=True)[:DELETED_ROWS])
    return Pulse.objects.using(using).filter(id__in=ids).delete()[0] if ids else 0
