"""The API key that begins in a given way, and what it may do now."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from django.db import connections
from django.utils import timezone

from tasksapp.sql.driver import health_check
from tasksapp.sql.driver.single_statement import SingleStatement, may_be_single

#: Between the columns, which come as one text: libpq takes 1 to 2 µs to read each. The name comes last, since it may
#: have any character, and the others cannot have this one.
_SEPARATOR = "\x1f"
_COLUMNS = ("id", "{hashed}", "tenant_id", "scopes", "biz_type_ids", "version", "moved_to", "name")
_AS_TEXT = {
    "postgresql": f"concat_ws(chr(31), {', '.join(_COLUMNS)})",
    "other": " || char(31) || ".join(_COLUMNS),
}
_PRESENT = "prefix = {prefix}"
#: The index has no rows with an empty prefix, and is used only where the statement says that it wants none.
_PREVIOUS = "previous_prefix = {prefix} AND previous_prefix <> '' AND previous_until > {now}"


def _select(vendor: str, *, hashed: str, where: str, prefix: str, now: str) -> str:
    row = _AS_TEXT[vendor].format(hashed=hashed)
    condition = f"{where} AND enabled AND (expires_at IS NULL OR expires_at > {{now}})".format(prefix=prefix, now=now)
    return f"SELECT {row} FROM delayhub_api_key WHERE {condition}"  # noqa: S608  our own texts


class _Statements(NamedTuple):
    """What finds a key in one way, in each dialect and through each door."""

    single: SingleStatement
    postgresql: str
    other: str

    @classmethod
    def of(cls, *, hashed: str, where: str) -> _Statements:
        on_postgresql = {"hashed": hashed, "where": where, "now": "statement_timestamp()"}
        return cls(
            SingleStatement(_select("postgresql", prefix="$1", **on_postgresql)),
            _select("postgresql", prefix="%(prefix)s", **on_postgresql),
            _select("other", prefix="%(prefix)s", hashed=hashed, where=where, now="%(now)s"),
        )


_BY_PREFIX = _Statements.of(hashed="hashed_key", where=_PRESENT)
#: Only where there is no such key: to ask for both at once costs each request more.
_BY_PREVIOUS_PREFIX = _Statements.of(hashed="previous_hashed_key", where=_PREVIOUS)


class StoredKey(NamedTuple):
    """What is stored of a key; ``scopes`` and ``biz_type_ids`` are JSON."""

    id: int
    name: str
    hashed_key: str
    tenant_id: int
    scopes: str
    biz_type_ids: str
    version: int
    moved_to: str = ""


def find_api_keys(prefix: str, *, using: str) -> list[StoredKey]:
    """The enabled keys that begin with that prefix and have not expired; a replaced key counts until its overlap ends.

    It is one key or none, unless two that were made at random begin alike. Each request asks, so the model's query,
    which takes ten times as long, is not used.

    Args:
        prefix: how the key begins.
        using: the database.
    """
    connection = connections[using]
    # It is the first statement of a request, before which Django would check the connection.
    health_check.trust(connection)
    rows = _rows(connection, _BY_PREFIX, prefix) or _rows(connection, _BY_PREVIOUS_PREFIX, prefix)
    health_check.answered(connection)
    return [_stored(row[0]) for row in rows]


def _rows(connection: Any, statements: _Statements, prefix: str) -> list[Any]:
    if may_be_single(connection):
        return statements.single.rows(connection, [prefix])
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(statements.postgresql, {"prefix": prefix})
        else:
            now = connection.ops.adapt_datetimefield_value(timezone.now())
            cursor.execute(statements.other, {"prefix": prefix, "now": now})
        found: list[Any] = cursor.fetchall()
        return found


@lru_cache(maxsize=1_000)
def _stored(row: str) -> StoredKey:
    id_, hashed, tenant, scopes, biz_types, version, moved_to, name = row.split(_SEPARATOR, 7)
    return StoredKey(int(id_), name, hashed, int(tenant), scopes, biz_types, int(version), moved_to)
