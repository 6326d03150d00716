"""Counts what each tenant has of what quotas limit, by one statement, and stores it by another.

Sizes of bodies are in no index, and those of ten million rows are gigabytes, each time. So the bytes are those of all
bodies where they are few, and estimated by a sample where they are many: its ids come from the index of pending rows,
and only the rows of the sample are read.
"""

from __future__ import annotations

from datetime import datetime

from django.db import connections

from tasksapp.models import TenantCount, Transition
from tasksapp.sql.count_jobs import long_statement

#: So many pending jobs of a tenant are looked at, by chance; all of them where it has no more. Their mean times the
#: number of jobs is off by 3 in 100 of what it would be if all bodies were as long as the longest, in 95 cases of 100.
#: Each is looked up by its id: where the planner may join, it reads the whole table.
SAMPLE = 2_000

_PENDING = Transition.CLAIM.source
#: By the database: the least and the greatest of two numbers, a number from 0 to 1 by chance, the bytes of a text. The
#: number names a column of the job, else databases draw one for all jobs of a biz type.
_WORDS = {
    "postgresql": {
        "least": "LEAST",
        "most": "GREATEST",
        "chance": "random() + 0 * j.biz_type_id",
        "bytes": "octet_length(j.body)",
    },
    "sqlite": {
        "least": "MIN",
        "most": "MAX",
        "chance": "((RANDOM() + 0 * j.biz_type_id) & 1048575) / 1048576.0",
        "bytes": "LENGTH(CAST(j.body AS BLOB))",
    },
}
_COUNTED = ("pending_jobs", "pending_bytes", "series", "biz_types", "api_keys")
_COUNT = """
WITH waiting AS (
    SELECT b.id, b.tenant_id, c.pending, SUM(c.pending) OVER (PARTITION BY b.tenant_id) AS of_tenant
    FROM delayhub_biz_type b JOIN delayhub_job_count c ON c.biz_type_id = b.id
), chances AS (
    SELECT id, tenant_id, of_tenant, {least}(1.0, {sample}.0 / {most}(1.0, of_tenant)) AS chance FROM waiting
), picked AS MATERIALIZED (
    SELECT j.id, s.tenant_id, s.of_tenant FROM chances s JOIN delayhub_job j ON j.biz_type_id = s.id
    WHERE j.status = '{pending}' AND {chance} < s.chance
), sizes AS (
    SELECT p.tenant_id, MAX(p.of_tenant) * AVG(
        (SELECT {bytes} + COALESCE(LENGTH(j.raw), 0) FROM delayhub_job j WHERE j.id = p.id)
    ) AS size
    FROM picked p GROUP BY p.tenant_id
)
SELECT t.id,
    COALESCE((SELECT SUM(w.pending) FROM waiting w WHERE w.tenant_id = t.id), 0),
    CAST(ROUND(COALESCE(s.size, 0)) AS BIGINT),
    (SELECT COUNT(*) FROM delayhub_series e JOIN delayhub_biz_type b ON b.id = e.biz_type_id WHERE b.tenant_id = t.id),
    (SELECT COUNT(*) FROM delayhub_biz_type b WHERE b.tenant_id = t.id),
    (SELECT COUNT(*) FROM delayhub_api_key k WHERE k.tenant_id = t.id)
FROM delayhub_tenant t LEFT JOIN sizes s ON s.tenant_id = t.id
"""


def count_of_tenants(*, now: datetime, using: str, timeout_seconds: float) -> None:
    """Stores a :class:`TenantCount` of each tenant. Pending jobs are those that the loader counted last.

    Raises TookTooLong where that takes longer than the timeout.
    """
    connection = connections[using]
    statement = _COUNT.format(
        **_WORDS[connection.vendor],
        sample=SAMPLE,
        pending=_PENDING,
    )
    with long_statement(using=using, timeout_seconds=timeout_seconds) as cursor:
        cursor.execute(statement)
        found = cursor.fetchall()
    # Apart from the reading, for whose time SQLite would let nobody else write.
    rows = [
        TenantCount(tenant_id=number, counted_at=now, **dict(zip(_COUNTED, counts, strict=True)))
        for number, *counts in found
    ]
    TenantCount.objects.using(using).bulk_create(
        rows, update_conflicts=True, unique_fields=["tenant"], update_fields=[*_COUNTED, "counted_at"]
    )
