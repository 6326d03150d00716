"""Rows made by PostgreSQL itself: half a year of jobs, as a table has them after purges, or those of one biz type."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.utils import timezone

#: Indexes are made again afterwards, which is several times faster than keeping them on the way.
_INDEXES = """
SELECT i.indexname, i.indexdef FROM pg_indexes i
WHERE i.tablename IN ('delayhub_job', 'delayhub_attempt', 'delayhub_idempotency_key')
    AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conname = i.indexname)
"""

#: Of 1 000 jobs 199 are pending, 1 is running, 20 are dead, 30 cancelled, 10 skipped, 10 dropped, the rest succeeded.
_JOBS = """
INSERT INTO delayhub_job (id, biz_type_id, biz_id, due_at, next_run_at, body, priority, traceparent, status, attempts,
    attempt_base, system_errors, version, worker, last_error, error_class, created_by, created_at, updated_at,
    finished_at, lease_until, lease_token)
SELECT
    (substr(ms, 1, 8) || '-' || substr(ms, 9, 4) || '-7' || substr(md5(n::text), 1, 3) || '-8'
        || substr(md5(n::text), 4, 3) || '-' || substr(md5(n::text), 7, 12))::uuid,
    biz_types.ids[1 + n %% cardinality(biz_types.ids)], 'order-' || n, at, at,
    '{"order":' || n || ',"note":"the customer did not pay"}', 5, '',
    status, 1, 0, 0, 1, '', CASE WHEN status = 'dead' THEN 'the receiver answered 503' ELSE '' END,
    CASE WHEN status = 'dead' THEN (ARRAY['http.503', 'http.404', 'timeout', 'refused'])[1 + n %% 4] ELSE '' END,
    'api:shop', created, created,
    CASE WHEN status NOT IN ('pending', 'running') THEN at END,
    CASE WHEN status = 'running' THEN now() - interval '1 minute' END,
    CASE WHEN status = 'running' THEN n END
FROM (SELECT array_agg(id ORDER BY id) AS ids FROM delayhub_biz_type) AS biz_types,
    generate_series(1, %(rows)s) AS n,
    LATERAL (SELECT CASE WHEN h < 199 THEN 'pending' WHEN h < 200 THEN 'running' WHEN h < 220 THEN 'dead'
        WHEN h < 250 THEN 'cancelled' WHEN h < 260 THEN 'skipped' WHEN h < 270 THEN 'dropped' ELSE 'succeeded' END
        AS status FROM (SELECT abs(hashint8(n)) %% 1000 AS h) AS hashed) AS statuses,
    LATERAL (SELECT now() - interval '180 days' * (1 - n::float / %(rows)s) AS created) AS births,
    LATERAL (SELECT CASE WHEN status = 'pending' THEN now() + interval '30 days' * (random() - 0.1)
        ELSE created + interval '30 minutes' END AS at) AS times,
    LATERAL (SELECT lpad(to_hex((extract(epoch FROM created) * 1000)::bigint), 12, '0') AS ms) AS marks
"""

_ATTEMPTS = """
INSERT INTO delayhub_attempt (job_id, number, started_at, duration_ms, lateness_ms, status_code, response_headers,
    response_body, error, worker)
SELECT id, 1, due_at, 12, 2, 204, '{}'::jsonb, '', '', 'w' FROM delayhub_job WHERE finished_at IS NOT NULL
"""

_KEYS = """
INSERT INTO delayhub_idempotency_key (biz_type_id, key, request_hash, job_id, expires_at)
SELECT biz_type_id, biz_id, repeat('0', 64), id, created_at + interval '170 days' FROM delayhub_job
WHERE abs(hashtext(biz_id)) %% 10 = 0
"""

#: Jobs that were due in the last day and still wait. Ids are ordered by time, as the app's own are: in random order a
#: million would be written all over the index.
_OVERDUE = """
INSERT INTO delayhub_job (id, biz_type_id, biz_id, due_at, next_run_at, body, priority, traceparent, status, attempts,
    attempt_base, system_errors, version, worker, last_error, error_class, created_by, created_at, updated_at)
SELECT (substr(ms, 1, 8) || '-' || substr(ms, 9, 4) || '-7' || substr(gen_random_uuid()::text, 16))::uuid,
    %(biz_type)s, 'order-' || n, at, at, '{}', 5, '', 'pending', 0, 0, 0, 1, '', '', '', '', at, at
FROM generate_series(1, %(rows)s) AS n, LATERAL (SELECT now() - interval '1 day' * random() AS at) AS times,
    LATERAL (SELECT lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0') AS ms) AS ids
"""

#: Each biz type's attempts: two hours of minutes, two days of ten minutes, 30 days of hours; 12 counters in each.
_PULSES = """
INSERT INTO delayhub_pulse (at, biz_type_id, span_seconds, kind, key, count)
SELECT to_timestamp(floor(extract(epoch FROM now()) / span - n) * span), biz_types.id, span, kind, key, span * share
FROM delayhub_biz_type AS biz_types,
    (VALUES (60, 120), (600, 288), (3600, 720)) AS spans (span, stretches),
    LATERAL generate_series(0, stretches - 1) AS n,
    (VALUES ('succeeded', '', 9), ('failed', 'http.503', 1), ('failed', 'timeout', 1), ('dead', 'timeout', 1),
        ('lateness', '8', 2), ('lateness', '9', 4), ('lateness', '10', 3), ('lateness', '30', 1),
        ('duration', '12', 6), ('duration', '13', 4), ('busy', '', 300), ('held', '', 400)) AS kinds (kind, key, share)
"""


def fill(rows: int, *, biz_types: int) -> float:
    """Fills the tables, and says how many seconds that took. So many biz types share the jobs."""
    from django.db import connection

    from tasksapp.models import BizType

    began = time.monotonic()
    for number in range(biz_types):
        rate = 500.0 if number % 5 == 0 else None
        BizType.objects.create(code=f"kind.{number}", url="http://127.0.0.1/hook", delivery_rate=rate)
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")
        cursor.execute("SET maintenance_work_mem = '512MB'")
        cursor.execute(_INDEXES)
        indexes = cursor.fetchall()
        for name, _ in indexes:
            cursor.execute(f"DROP INDEX {name}")
        for statement in (_JOBS, _ATTEMPTS, _KEYS):
            cursor.execute(statement, {"rows": rows})
        for _, definition in indexes:
            cursor.execute(definition)
        for table in ("delayhub_job", "delayhub_attempt", "delayhub_idempotency_key"):
            cursor.execute(f"VACUUM (ANALYZE) {table}")
    return round(time.monotonic() - began, 1)


def fill_overdue(biz_type: Any, rows: int) -> None:
    """So many pending jobs of a biz type that were due in the last day, without timers: the loader brings those."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(_OVERDUE, {"biz_type": biz_type.pk, "rows": rows})


def fill_one(rows: int, *, idle: int = 20) -> Iterator[tuple[str, list[Any]]]:
    """Gives one paused biz type so many overdue jobs, and so many others none; each time it says what to look at.

    Yields what the table is, and the biz types, the full one first: an empty table; that after an import, without
    statistics; after an import, when they are of a time at which each had a few jobs; and after ANALYZE.
    """
    from django.db import connection

    from tasksapp.models import BizType

    address = "http://127.0.0.1/hook"
    full = BizType.objects.create(code="full", url=address, paused_until=timezone.now() + timedelta(days=1))
    others = [BizType.objects.create(code=f"idle.{number}", url=address) for number in range(idle)]
    both = [full, *others]
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE delayhub_job SET (autovacuum_enabled = off)")
        cursor.execute("TRUNCATE delayhub_job CASCADE")
        yield "empty", both
        fill_overdue(full, rows)
        yield "imported into a new table", both
        cursor.execute("TRUNCATE delayhub_job CASCADE")
        for biz_type in both:
            fill_overdue(biz_type, 30)
        cursor.execute("ANALYZE delayhub_job")
        cursor.execute("DELETE FROM delayhub_job")
        fill_overdue(full, rows)
        yield "imported, statistics are old", both
        cursor.execute("ANALYZE delayhub_job")
        yield "after ANALYZE", both


def fill_pulses() -> None:
    """Counts attempts of each biz type, as its processes and the counter would have."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(_PULSES)
        cursor.execute("VACUUM (ANALYZE) delayhub_pulse")
