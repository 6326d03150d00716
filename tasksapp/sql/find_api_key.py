"""The API key that begins in a given way, and what it may do now."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from django.db import connections

from tasksapp.sql.driver import health_check
from tasksapp.sql.driver.single_query import SingleQuery
from tasksapp.sql.driver.single_statement import may_be_single

_SELECT = """
SELECT id, name, CASE WHEN prefix = {prefix} THEN hashed_key ELSE previous_hashed_key END,
       tenant_id, scopes, biz_type_ids, version
  FROM delayhub_api_key
 WHERE enabled
   AND (prefix = {prefix} OR (previous_prefix = {prefix} AND previous_prefix <> '' AND previous_until > {now}))
   AND (expires_at IS NULL OR expires_at > {now})
"""
_SINGLE = SingleQuery(_SELECT.format(prefix="$1", now="$2"))
_BY_CURSOR = _SELECT.format(prefix="%(prefix)s", now="%(now)s")


class StoredKey(NamedTuple):
    """What is stored of a key; ``scopes`` and ``biz_type_ids`` are JSON."""

    id: int
    name: str
    hashed_key: str
    tenant_id: int
    scopes: str
    biz_type_ids: str
    version: int


def find_api_keys(prefix: str, *, at: datetime, using: str) -> list[StoredKey]:
    """The enabled keys that begin with that prefix and have not expired; a replaced key counts until its overlap ends.

    It is one key or none, unless two that were made at random begin alike. Each request asks, so the model's query,
    which takes ten times as long, is not used.
    """
    connection = connections[using]
    # It is the first statement of a request, before which Django would check the connection.
    health_check.trust(using)
    rows: Any
    if may_be_single(connection):
        rows = _SINGLE.rows(connection, [prefix, at])
    else:
        with connection.cursor() as cursor:
            now = connection.ops.adapt_datetimefield_value(at)
            cursor.execute(_BY_CURSOR, {"prefix": prefix, "now": now})
            rows = cursor.fetchall()
    health_check.answered(using)
    return [
        StoredKey(int(row[0]), row[1], row[2], int(row[3]), row[4], row[5], int(row[6]))  # libpq gives texts
        for row in rows
    ]
