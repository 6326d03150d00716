"""Look: a statement that finds out what there is to do, for a loop that asks it again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from tasksapp.sql.driver.prepared import PreparedStatement

#: With a good plan a look takes less than a ms; one that was made while the tables were empty may read all of them,
#: once for each biz type and each second, until PostgreSQL makes statistics.
SLOW_SECONDS = 0.05


class Look:
    """A SELECT about some moments, in both dialects. PostgreSQL keeps its plan: planning is most of what it costs.

    Args:
        sql: the statement, with ``{name}`` for each moment and for each text in which the dialects differ.
        moments: the names of the moments.
        postgresql: those texts, on PostgreSQL.
        other: the same on other databases.
    """

    def __init__(
        self, sql: str, *, moments: Sequence[str], postgresql: Mapping[str, str], other: Mapping[str, str]
    ) -> None:
        named = {name: f"%({name})s" for name in moments}
        types = dict.fromkeys(moments, "timestamptz")
        self._kept = PreparedStatement(sql.format(**postgresql, **named), types, slow_seconds=SLOW_SECONDS)
        self._other = sql.format(**other, **named)

    def rows(self, connection: BaseDatabaseWrapper, **moments: datetime | None) -> list[tuple[Any, ...]]:
        """Its rows.

        Args:
            connection: that of the database.
            moments: each by its name; None for the beginning of all times.
        """
        if connection.vendor == "postgresql":
            return self._kept.rows(connection, {name: at or "-infinity" for name, at in moments.items()})
        adapt = connection.ops.adapt_datetimefield_value
        with connection.cursor() as cursor:
            # SQLite compares texts, and '' comes before all others.
            cursor.execute(self._other, {name: "" if at is None else adapt(at) for name, at in moments.items()})
            return list(cursor.fetchall())
