"""The enabled API key that begins in a given way."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.db import connections

from tasksapp.sql.driver import health_check
from tasksapp.sql.driver.single_query import SingleQuery
from tasksapp.sql.driver.single_statement import may_be_single

_SELECT = "SELECT id, name, hashed_key FROM delayhub_api_key WHERE enabled AND prefix = "
_SINGLE = SingleQuery(f"{_SELECT}$1")


class StoredKey(NamedTuple):
    """What is stored of a key."""

    id: int
    name: str
    hashed_key: str


def find_api_key(prefix: str, *, using: str) -> StoredKey | None:
    """The enabled key with that prefix; None where there is none.

    Each request asks, so the model's query, which takes ten times as long, is not used.
    """
    connection = connections[using]
    # It is the first statement of a request, before which Django would check the connection.
    health_check.trust(using)
    if may_be_single(connection):
        rows: Any = _SINGLE.rows(connection, [prefix])
    else:
        with connection.cursor() as cursor:
            cursor.execute(f"{_SELECT}%s", [prefix])
            rows = cursor.fetchall()
    health_check.answered(using)
    return StoredKey(int(rows[0][0]), rows[0][1], rows[0][2]) if rows else None
