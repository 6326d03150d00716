"""Look: a statement that finds out what there is to do, for a loop that asks it again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from tasksapp.sql.driver.single_statement import SingleStatement, may_be_single

#: Before all times, as the databases compare them.
_EVER = {"postgresql": "-infinity", "other": ""}


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
        self._moments = tuple(moments)
        numbered = {name: f"${number}" for number, name in enumerate(moments, start=1)}
        named = {name: f"%({name})s" for name in moments}
        self._kept = SingleStatement(sql.format(**postgresql, **numbered))
        self._by_cursor = {
            "postgresql": sql.format(**postgresql, **named),
            "other": sql.format(**other, **named),
        }

    def rows(self, connection: BaseDatabaseWrapper, **moments: datetime | None) -> Sequence[Sequence[Any]]:
        """Its rows; numbers may come as text, and whether something is, ``is_so`` says of each value.

        Args:
            connection: that of the database.
            moments: each by its name; None for the beginning of all times.
        """
        dialect = "postgresql" if connection.vendor == "postgresql" else "other"
        ever = _EVER[dialect]
        if may_be_single(connection):
            values = [moments[name] for name in self._moments]
            return self._kept.rows(connection, [ever if value is None else value for value in values])
        adapt = connection.ops.adapt_datetimefield_value
        adapted = {name: ever if value is None else adapt(value) for name, value in moments.items()}
        with connection.cursor() as cursor:
            cursor.execute(self._by_cursor[dialect], adapted)
            return list(cursor.fetchall())

    def forget(self, connection: BaseDatabaseWrapper) -> None:
        """Lets go of the plan that the connection keeps, and another one is made for what the tables have become."""
        self._kept.forget(connection)


def is_so(value: Any) -> bool:
    """Whether a value of a row is true, in whatever way it came."""
    return value in {True, "t"}
