"""Fills the table with pending jobs, a million in some ten seconds: PostgreSQL makes the rows itself."""

from __future__ import annotations

from datetime import datetime

#: Ids that are ordered by time, as the app's own are: in random order a million would be written all over the index.
_FILL = """
INSERT INTO delayhub_job (id, biz_type_id, biz_id, due_at, next_run_at, body, priority, traceparent, status, attempts,
    attempt_base, system_errors, version, worker, last_error, created_at, updated_at)
SELECT
    (substr(ms, 1, 8) || '-' || substr(ms, 9, 4) || '-7' || substr(gen_random_uuid()::text, 16))::uuid,
    b.id, 'order-' || n, at, at, '{"order":' || n || ',"note":"the customer did not pay"}', b.priority, '', 'pending',
    0, 0, 0, 1, '', '', now(), now()
FROM delayhub_biz_type b,
    generate_series(%(first)s, %(first)s + %(count)s - 1) AS n,
    LATERAL (SELECT %(due)s + make_interval(secs => %(spread)s * (n - %(first)s) / %(count)s) AS at) AS times,
    LATERAL (SELECT lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0') AS ms) AS ids
WHERE b.code = %(code)s
"""


def fill(code: str, count: int, *, due: datetime, spread_seconds: float = 0.0, first: int = 0) -> None:
    """Inserts pending jobs of a biz type, without timers: the loader brings those.

    Args:
        code: the biz type.
        count: how many.
        due: when the first is due.
        spread_seconds: over how long after that the others are, evenly.
        first: number of the first, for its biz id.
    """
    from django.db import connection

    with connection.cursor() as cursor:
        values = {"code": code, "count": count, "due": due, "spread": spread_seconds, "first": first}
        cursor.execute(_FILL, values)
        cursor.execute("ANALYZE delayhub_job")


def empty() -> None:
    """Takes all jobs away, without a million deletions."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE delayhub_job, delayhub_attempt, delayhub_idempotency_key")
