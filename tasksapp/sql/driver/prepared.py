"""Statements that run so often that to plan them anew each time is a third of what they cost."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

from django.db import DatabaseError
from django.db.backends.base.base import BaseDatabaseWrapper

#: SQLSTATE: the statement is prepared already, is not there, or its plan no longer fits the tables.
_ALREADY_THERE, _NOT_THERE, _OUTDATED = "42P05", "26000", "0A000"


class _State(Enum):
    """What a connection of the driver knows of a statement."""

    USED = "used"
    READY = "ready"
    REFUSED = "refused"


class PlannedStatement:
    """A statement of PostgreSQL, prepared by name from a connection's second use of it on.

    Behind a pooler that hands out another server connection for each transaction, a name may be known there or not. It
    is made of the text, so it never stands for another statement; where it is missing, the connection goes back to the
    statement itself. So it does within a transaction, which such an error would spoil.

    Args:
        sql: the statement, its parameters written ``%(name)s``.
        types: the PostgreSQL type of each parameter.
    """

    def __init__(self, sql: str, types: Mapping[str, str]) -> None:
        self.sql = sql
        body = sql % {parameter: f"${number}" for number, parameter in enumerate(types, start=1)}
        name = f"delayhub_{hashlib.sha256(body.encode()).hexdigest()[:16]}"
        self._prepare = f"PREPARE {name} ({', '.join(types.values())}) AS {body}"
        self._execute = f"EXECUTE {name} ({', '.join(f'%({parameter})s' for parameter in types)})"
        self._states: WeakKeyDictionary[Any, _State] = WeakKeyDictionary()

    def rows(self, connection: BaseDatabaseWrapper, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Runs it and gives back all its rows."""
        with connection.cursor() as cursor:
            if self._is_ready(connection, cursor):
                try:
                    cursor.execute(self._execute, values)
                    return list(cursor.fetchall())
                except DatabaseError as error:
                    if _sqlstate(error) not in {_NOT_THERE, _OUTDATED}:
                        raise
                    self._states[connection.connection] = _State.REFUSED
            cursor.execute(self.sql, values)
            return list(cursor.fetchall())

    def _is_ready(self, connection: BaseDatabaseWrapper, cursor: Any) -> bool:
        # A driver that binds parameters on the server prepares by itself where it is told to, and cannot bind those of
        # EXECUTE.
        if connection.in_atomic_block or connection.settings_dict["OPTIONS"].get("server_side_binding"):
            return False
        driver = connection.connection
        state = self._states.get(driver)
        if state is _State.USED:
            try:
                cursor.execute(self._prepare)
            except DatabaseError as error:
                if _sqlstate(error) != _ALREADY_THERE:
                    raise
            state = self._states[driver] = _State.READY
        elif state is None:
            # Once only: a connection that lives for one task would pay for planning, and a round trip more.
            self._states[driver] = _State.USED
        return state is _State.READY


class StatementByIds:
    """A statement whose rows are found by ``= ANY(%(ids)s::uuid[])``; one id alone is looked up by a planned one.

    Under light load jobs come one by one, and planning would be half of the cost. A plan for an array of any length
    would join a hundred ids by ten thousand comparisons; several are planned each time.

    Args:
        sql: the statement, its parameters written ``%(name)s``.
        types: the PostgreSQL type of each parameter but ``ids``.
    """

    def __init__(self, sql: str, types: Mapping[str, str]) -> None:
        self.sql = sql
        self._one = PlannedStatement(sql.replace("= ANY(%(ids)s::uuid[])", "= %(ids)s"), {**types, "ids": "uuid"})

    def rows(
        self, connection: BaseDatabaseWrapper, ids: Sequence[UUID], values: Mapping[str, Any]
    ) -> list[tuple[Any, ...]]:
        """Runs it and gives back all its rows."""
        if len(ids) == 1:
            return self._one.rows(connection, {**values, "ids": ids[0]})
        with connection.cursor() as cursor:
            # The array as text: a list would take Python 3 µs for each id.
            cursor.execute(self.sql, {**values, "ids": f"{{{','.join(map(str, ids))}}}"})
            return list(cursor.fetchall())


def _sqlstate(error: DatabaseError) -> str | None:
    return getattr(error.__cause__, "sqlstate", None)
