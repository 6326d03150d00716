"""Idempotency keys: the first request with a key gets it, also where several come at the same moment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import OperationalError, connections

from tasksapp.errors import KeyInUse
from tasksapp.models import IdempotencyKey


class KeyClaim(NamedTuple):
    """A key, the request that it came with, and the job that it is to stand for."""

    biz_type_id: int
    key: str
    request_hash: str
    job_id: UUID


class KeyHolder(NamedTuple):
    """The request and the job that a key belongs to."""

    request_hash: str
    job_id: UUID


#: SQLSTATE of a statement that has waited as long for a row as it may.
_LOCK_TIMEOUT = "55P03"
#: The time until a key expires, in a statement of PostgreSQL that waits so long for a rival at most. In the statement
#: itself, since one of its own would be a round trip more.
_BOUNDED = "CASE WHEN set_config('lock_timeout', %s, true) IS NOT NULL THEN %s::timestamptz END"

#: It waits for the transaction of a rival request, and takes over a key that has expired.
_UPSERT = """
INSERT INTO delayhub_idempotency_key (biz_type_id, key, request_hash, job_id, expires_at)
VALUES {values}
ON CONFLICT (biz_type_id, key) DO UPDATE
SET request_hash = excluded.request_hash, job_id = excluded.job_id, expires_at = excluded.expires_at
WHERE delayhub_idempotency_key.expires_at <= %s
"""


def claim_keys(
    claims: Sequence[KeyClaim], *, now: datetime, expires_at: datetime, using: str, wait_seconds: float | None = None
) -> dict[tuple[int, str], KeyHolder]:
    """Claims the keys, and gives back who holds each: the claim, or an earlier request. The keys must differ.

    Args:
        claims: the keys.
        now: when.
        expires_at: until when they are claimed.
        using: the database.
        wait_seconds: how long to wait for a rival request that has not committed yet; None for as long as it takes.
            The bound is PostgreSQL's, and holds for the rest of the transaction; SQLite lets one transaction write.

    Raises KeyInUse where a rival takes longer; the transaction must then be rolled back.
    """
    connection = connections[using]
    is_bounded = wait_seconds is not None and connection.vendor == "postgresql"
    bound = [str(round(wait_seconds * 1000))] if is_bounded and wait_seconds is not None else []
    row = f"(%s, %s, %s, %s, {_BOUNDED if is_bounded else '%s'})"
    adapt = connection.ops.adapt_datetimefield_value
    job_id = IdempotencyKey._meta.get_field("job_id")
    holders: dict[tuple[int, str], KeyHolder] = {}
    # In the same order for all bulk requests, so that no two wait for each other.
    ordered = sorted(claims)
    for start in range(0, len(ordered), 100):
        chunk = ordered[start : start + 100]
        values: list[Any] = []
        for claim in chunk:
            values += [claim.biz_type_id, claim.key, claim.request_hash]
            values += [job_id.get_db_prep_value(claim.job_id, connection), *bound, adapt(expires_at)]
        rows = ", ".join([row] * len(chunk))
        try:
            with connection.cursor() as cursor:
                cursor.execute(_UPSERT.format(values=rows), [*values, adapt(now)])
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", None) != _LOCK_TIMEOUT:
                raise
            raise KeyInUse from error
        wanted: dict[int, list[str]] = defaultdict(list)
        for claim in chunk:
            wanted[claim.biz_type_id].append(claim.key)
        keys = IdempotencyKey.objects.using(using)
        for biz_type_id, names in wanted.items():
            found = keys.filter(biz_type_id=biz_type_id, key__in=names)
            for key, request_hash, held_by in found.values_list("key", "request_hash", "job_id"):
                holders[biz_type_id, key] = KeyHolder(request_hash, held_by)
    return holders


def unclaim_key(biz_type_id: int, key: str, *, job_id: UUID, using: str) -> None:
    """Takes back a key that was claimed just now, for a job that was not made."""
    IdempotencyKey.objects.using(using).filter(biz_type_id=biz_type_id, key=key, job_id=job_id).delete()


def repoint_key(biz_type_id: int, key: str, job_id: UUID, *, using: str) -> None:
    """Makes a key that was claimed just now stand for another job: the one that its request replaced."""
    IdempotencyKey.objects.using(using).filter(biz_type_id=biz_type_id, key=key).update(job_id=job_id)
