"""Leases of running rows, renewed by the process that works on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import connections, transaction

from tasksapp.models import Job, Transition

_RENEW = f"""
UPDATE delayhub_job j SET lease_until = held.until
FROM unnest(%s::uuid[], %s::bigint[], %s::timestamptz[]) AS held (id, token, until)
WHERE j.id = held.id AND j.status = '{Transition.CLAIM.target}' AND j.lease_token = held.token
RETURNING j.id
"""  # noqa: S608  our own constants


def renew_leases(held: Sequence[tuple[UUID, int, datetime]], *, using: str) -> set[UUID]:
    """Renews leases, given as (id, token, new end), and gives back the ids whose lease still held."""
    if not held:
        return set()
    if connections[using].vendor == "postgresql":
        with connections[using].cursor() as cursor:
            cursor.execute(_RENEW, [list(column) for column in zip(*held, strict=True)])
            return {row[0] for row in cursor.fetchall()}
    alike: dict[tuple[int, datetime], list[UUID]] = defaultdict(list)
    for job_id, token, until in held:
        alike[token, until].append(job_id)
    renewed: set[UUID] = set()
    with transaction.atomic(using=using):
        for (token, until), ids in alike.items():
            rows = Job.objects.using(using).filter(id__in=ids, status=Transition.CLAIM.target, lease_token=token)
            ours = list(rows.values_list("id", flat=True))
            Job.objects.using(using).filter(id__in=ours).update(lease_until=until)
            renewed.update(ours)
    return renewed
