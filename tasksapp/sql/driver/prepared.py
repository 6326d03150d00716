"""Prepared statements: planning them for every run would be half of what they cost. See decision 14."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

from django.db import DatabaseError
from django.db.backends.base.base import BaseDatabaseWrapper

#: SQLSTATE: the statement is prepared already, is not there, or its plan no longer fits the tables.
_ALREADY_THERE, _NOT_THERE, _OUTDATED = "42P05", "26000", "0A000"
#: A kept plan with which a run takes longer is let go of. One that was made while the table was empty reads all of it,
#: until PostgreSQL makes statistics: after an import of 200 000 jobs each claim of 32 took 0.7 s, for a minute.
SLOW_SECONDS = 0.25


class _State(Enum):
    """How far a connection of the driver has come with a statement."""

    USED = "used"
    READY = "ready"
    REFUSED = "refused"


class PreparedStatement:
    """A statement of PostgreSQL that is prepared at a connection's second use of it.

    Behind a pooler that gives each transaction another server connection, the prepared name may be unknown. It is made
    of a hash of the statement, so it never means another statement. Where the name is unknown, the statement itself is
    run, and that connection does not use the name again. Within a transaction the name is never used, since the error
    would spoil the transaction. After a run that took long it is prepared anew, for what the tables have become.

    Args:
        sql: the statement, its parameters written ``%(name)s``.
        types: the PostgreSQL type of each parameter.
        slow_seconds: a run that takes longer took long.
    """

    def __init__(self, sql: str, types: Mapping[str, str], *, slow_seconds: float = SLOW_SECONDS) -> None:
        self.sql = sql
        self._slow_seconds = slow_seconds
        body = sql % {parameter: f"${number}" for number, parameter in enumerate(types, start=1)}
        name = f"delayhub_{hashlib.sha256(body.encode()).hexdigest()[:16]}"
        self._name = name
        self._prepare = f"PREPARE {name} ({', '.join(types.values())}) AS {body}"
        self._execute = f"EXECUTE {name} ({', '.join(f'%({parameter})s' for parameter in types)})"
        self._states: WeakKeyDictionary[Any, _State] = WeakKeyDictionary()

    def rows(self, connection: BaseDatabaseWrapper, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Runs it and gives back all its rows."""
        with connection.cursor() as cursor:
            if self._is_ready(connection, cursor):
                try:
                    return self._by_kept_plan(connection, cursor, values)
                except DatabaseError as error:
                    if _sqlstate(error) not in {_NOT_THERE, _OUTDATED}:
                        raise
                    self._states[connection.connection] = _State.REFUSED
            cursor.execute(self.sql, values)
            return list(cursor.fetchall())

    def _by_kept_plan(
        self, connection: BaseDatabaseWrapper, cursor: Any, values: Mapping[str, Any]
    ) -> list[tuple[Any, ...]]:
        began = time.monotonic()
        cursor.execute(self._execute, values)
        rows = list(cursor.fetchall())
        if time.monotonic() - began > self._slow_seconds:
            self._states[connection.connection] = _State.USED
            with contextlib.suppress(DatabaseError):  # a pooler may have given us another server connection meanwhile
                cursor.execute(f"DEALLOCATE {self._name}")
        return rows

    def _is_ready(self, connection: BaseDatabaseWrapper, cursor: Any) -> bool:
        # A driver that binds parameters on the server cannot bind those of EXECUTE; it can prepare statements itself.
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
            # Not at the first use: it takes a round trip, which a connection that lives for one task gains nothing by.
            self._states[driver] = _State.USED
        return state is _State.READY


#: How a statement finds its rows.
_ANY_ID = "= ANY(%(ids)s::uuid[])"
#: For up to how many ids there is a prepared form, in rising order. None longer: the more ids, the less of the
#: cost is planning, and the more a plan costs that was made while the table was empty (decision 14).
_SIZES = (1, 8, 32)


class StatementByIds:
    """A statement that finds its rows by ``= ANY(%(ids)s::uuid[])``. For up to 32 ids it is prepared.

    When there is little to do, jobs come a few at a time, and planning would be more than half of the cost. For an
    array of any length PostgreSQL would either plan each run, or keep a plan for ten ids, which compares each of a
    hundred with each. So each prepared form takes a fixed number of elements out of the array, which is filled up with
    its last id. The estimate of rows is then the same for all values, and by its own rule PostgreSQL keeps one plan
    after five runs.

    Args:
        sql: the statement, its parameters written ``%(name)s``.
        types: the PostgreSQL type of each parameter but ``ids``.

    Raises ValueError where the statement does not find its rows so.
    """

    def __init__(self, sql: str, types: Mapping[str, str]) -> None:
        if _ANY_ID not in sql or sql.count(_ANY_ID) != sql.count("%(ids)s"):
            raise ValueError(f"each %(ids)s of a statement must stand in {_ANY_ID!r}: {sql}")
        self.sql = sql
        self._prepared = {
            size: PreparedStatement(sql.replace(_ANY_ID, _first_ids(size)), {**types, "ids": "uuid[]"})
            for size in _SIZES
        }

    def rows(
        self, connection: BaseDatabaseWrapper, ids: Sequence[UUID | str], values: Mapping[str, Any]
    ) -> list[tuple[Any, ...]]:
        """Runs it and gives back all its rows."""
        for size, statement in self._prepared.items():
            if 0 < len(ids) <= size:
                filled = [*ids, *[ids[-1]] * (size - len(ids))]
                return statement.rows(connection, {**values, "ids": _array(filled)})
        with connection.cursor() as cursor:
            cursor.execute(self.sql, {**values, "ids": _array(ids)})
            return list(cursor.fetchall())


def _array(ids: Iterable[UUID | str]) -> str:
    """As text: psycopg would take 3 µs for each id of a list."""
    return f"{{{','.join(map(str, ids))}}}"


def _first_ids(size: int) -> str:
    """Finds the rows of that many first ids of the array."""
    if size == 1:
        return "= (%(ids)s::uuid[])[1]"
    return f"= ANY(ARRAY[{', '.join(f'(%(ids)s::uuid[])[{number}]' for number in range(1, size + 1))}])"


def _sqlstate(error: DatabaseError) -> str | None:
    return getattr(error.__cause__, "sqlstate", None)
