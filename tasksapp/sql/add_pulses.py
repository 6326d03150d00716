"""Adds to pulses: each row is made, or its count grows. Many processes do it at once, in the same order of rows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connections

#: Rows of one statement.
BATCH_ROWS = 500
MINUTE = 60

#: PostgreSQL and SQLite both. Rows are locked in the order in which they stand here; where all processes keep to the
#: same order, none waits for one that waits for it.
_ADD = """
INSERT INTO delayhub_pulse (at, biz_type_id, span_seconds, kind, key, count) VALUES {}
ON CONFLICT (span_seconds, at, biz_type_id, kind, key) DO UPDATE SET count = delayhub_pulse.count + excluded.count
"""


class PulseKey(NamedTuple):
    """What is counted: the minute, the biz type, and what happened. The order of the fields is that of the locks."""

    at: datetime
    biz_type_id: int
    kind: str
    key: str


def add_pulses(counts: Mapping[PulseKey, int], *, using: str) -> None:
    """Adds the counts to those of their minutes, ``BATCH_ROWS`` at most, by one statement.

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
    with connection.cursor() as cursor:
        cursor.execute(_ADD.format(", ".join(["(%s, %s, %s, %s, %s, %s)"] * len(counts))), values)
