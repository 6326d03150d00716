"""ConnectionInbox: an inbox on connections of ``sqlite3`` or ``psycopg``."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Generic, Protocol, TypeVar

from delayhub.clock import Clock, SystemClock
from delayhub.receiver.answer import IN_FLIGHT, Answer, is_taken, repeated
from delayhub.receiver.inbox_table import CREATE, FIND, INSERT, NOTE, PRUNE, WAIT_ON_POSTGRESQL, is_busy, oldest_kept

#: Fails to be released where the function has ended the transaction, or an error that it caught has spoilt it. Without
#: that, PostgreSQL's COMMIT of a spoilt transaction rolls back and reports nothing.
_MARK = "delayhub_work"

Connection = TypeVar("Connection", bound="DatabaseConnection")


class DatabaseConnection(Protocol):
    """What is used of a connection, as PEP 249 has it."""

    def cursor(self) -> Any: ...

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def close(self) -> None: ...


class ConnectionInbox(Generic[Connection]):
    """Keeps the keys of callbacks in a table beside your own, by a connection of ``sqlite3`` or ``psycopg``.

    Args:
        connect: gives a connection on which no transaction is open: a new one, or one of a pool.
        release: takes it back; it is closed otherwise.
        wait: how long a callback waits for another of its job that is under way, before it is answered with 409. On
            SQLite it waits for any transaction that writes.
        clock: where the time comes from.
    """

    def __init__(
        self,
        connect: Callable[[], Connection],
        *,
        release: Callable[[Connection], object] | None = None,
        wait: timedelta = timedelta(seconds=1),
        clock: Clock | None = None,
    ) -> None:
        self._connect = connect
        self._release = release or (lambda connection: connection.close())
        self._wait_ms = int(wait.total_seconds() * 1000)
        self._clock = clock or SystemClock()

    def take(self, key: str, work: Callable[[Connection], Answer]) -> Answer:
        """The answer of the work, done in the transaction that keeps the key; or that to a repeated callback.

        Raises what the work raises, and an error of the database where the work has ended or spoilt its transaction.
        """
        with self._transaction() as (connection, transaction):
            return self._take(connection, transaction, key, work)

    def create_table(self) -> None:
        """Makes the table, where it is not there."""
        self._change(lambda transaction: [transaction.run(statement) for statement in CREATE])

    def prune(self, *, keep: timedelta) -> int:
        """Forgets what came longer ago; returns how many rows that were.

        Args:
            keep: at least the biz types' ``max_age`` (a week, where there is none) and retention together.
        """
        before, pruned = oldest_kept(self._clock.now_ms(), keep=keep), 0
        while rows := self._change(lambda transaction: transaction.run(PRUNE, before).rowcount):
            pruned += rows
        return pruned

    def _take(
        self, connection: Connection, transaction: _Transaction, key: str, work: Callable[[Connection], Answer]
    ) -> Answer:
        try:
            transaction.begin(wait_ms=self._wait_ms)
            is_new = transaction.run(INSERT, key, self._clock.now_ms() // 1000).rowcount == 1
        except Exception as error:
            if not is_busy(error):
                raise
            transaction.rollback()
            return IN_FLIGHT
        if not is_new:
            action = transaction.value(FIND, key)
            transaction.rollback()
            return repeated(action)
        transaction.wait_as_usual()
        transaction.run(f"SAVEPOINT {_MARK}")
        answer = work(connection)
        if not is_taken(answer.status, answer.action):
            transaction.rollback()
            return answer
        transaction.run(f"RELEASE SAVEPOINT {_MARK}")
        if answer.action:
            transaction.run(NOTE, answer.action, key)
        transaction.commit()
        return answer

    def _change(self, change: Callable[[_Transaction], Any]) -> Any:
        with self._transaction() as (_, transaction):
            transaction.begin(wait_ms=self._wait_ms)
            transaction.wait_as_usual()
            result = change(transaction)
            transaction.commit()
            return result

    @contextmanager
    def _transaction(self) -> Iterator[tuple[Connection, _Transaction]]:
        """A connection, and the transaction on it, which an error rolls back."""
        connection = self._connect()
        try:
            transaction = _transaction_on(connection)
            try:
                yield connection, transaction
            except BaseException:
                transaction.rollback()
                raise
        finally:
            self._release(connection)


class _Transaction:
    """A transaction of psycopg's."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._wait_before = "0"

    def begin(self, *, wait_ms: int) -> None:
        if self._connection.autocommit:
            raise TypeError("the inbox needs a connection without autocommit: else its row stays where the work fails")
        self._wait_before = self.value(WAIT_ON_POSTGRESQL, f"{wait_ms}ms")

    def wait_as_usual(self) -> None:
        self.run(WAIT_ON_POSTGRESQL, self._wait_before)

    def run(self, statement: str, *values: object) -> Any:
        cursor = self._connection.cursor()
        cursor.execute(statement, values)
        return cursor

    def value(self, statement: str, *values: object) -> str:
        """The first column, whatever the connection makes of rows."""
        row = self.run(statement, *values).fetchone()
        return str(next(iter(row.values())) if isinstance(row, Mapping) else row[0])

    def commit(self) -> None:
        self._connection.commit()

    def rollback(self) -> None:
        self._connection.rollback()


class _SqliteTransaction(_Transaction):
    """A transaction of sqlite3's, whatever way of starting transactions the connection has."""

    def begin(self, *, wait_ms: int) -> None:
        self._wait_before = self.value("PRAGMA busy_timeout")
        self.run(f"PRAGMA busy_timeout = {wait_ms}")
        if getattr(self._connection, "autocommit", None) is not False:  # there, one is always open
            self.run("BEGIN IMMEDIATE")

    def wait_as_usual(self) -> None:
        self.run(f"PRAGMA busy_timeout = {int(self._wait_before)}")

    def run(self, statement: str, *values: object) -> Any:
        return super().run(statement.replace("%s", "?"), *values)

    def commit(self) -> None:
        # Where the connection has autocommit, its own method does nothing.
        self.run("COMMIT") if getattr(self._connection, "autocommit", None) is True else self._connection.commit()

    def rollback(self) -> None:
        if getattr(self._connection, "autocommit", None) is True:
            if self._connection.in_transaction:
                self.run("ROLLBACK")
        else:
            self._connection.rollback()
        self.wait_as_usual()


def _transaction_on(connection: DatabaseConnection) -> _Transaction:
    return _SqliteTransaction(connection) if isinstance(connection, sqlite3.Connection) else _Transaction(connection)
