"""SessionInbox and AsyncSessionInbox: inboxes on SQLAlchemy's sessions, on PostgreSQL and SQLite."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar

from sqlalchemy import BigInteger, Column, MetaData, String, Table, delete, select, text, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker
from sqlalchemy.orm import Session, SessionTransaction, sessionmaker

from delayhub.clock import Clock, SystemClock
from delayhub.receiver.answer import IN_FLIGHT, Answer, is_taken, repeated
from delayhub.receiver.inbox_table import KEY_LENGTH, PRUNE_ROWS, TABLE, is_busy, oldest_kept

Sessions = TypeVar("Sessions")


def inbox_table(metadata: MetaData) -> Table:
    """The inbox's table, as a part of your metadata: for ``create_all`` and Alembic."""
    return Table(
        TABLE,
        metadata,
        Column("id", String(KEY_LENGTH), primary_key=True),
        Column("received_at", BigInteger, nullable=False, index=True),
        Column("action", String(20), nullable=False, server_default=""),
    )


_inbox = inbox_table(MetaData())


@dataclass(frozen=True, slots=True)
class _Taken:
    """A key that is this transaction's; the mark fails to be released where the transaction has ended or is spoilt."""

    key: str
    mark: SessionTransaction


class _Steps:
    """What is done before and after the work, on a session's connection."""

    def __init__(self, *, wait: timedelta, clock: Clock | None) -> None:
        self._wait_ms = int(wait.total_seconds() * 1000)
        self._clock = clock or SystemClock()

    def begin(self, session: Session, key: str) -> _Taken | Answer:
        """Takes the key; or the answer, where it is another's."""
        try:
            is_new = self._insert(session, key)
        except DBAPIError as error:
            if not is_busy(error):
                raise
            session.rollback()
            return IN_FLIGHT
        if not is_new:
            action = session.scalar(select(_inbox.c.action).where(_inbox.c.id == key))
            session.rollback()
            return repeated(action or "")
        return _Taken(key, session.begin_nested())

    def end(self, session: Session, taken: _Taken, answer: Answer) -> Answer:
        """Commits or rolls back, as the answer says."""
        if not is_taken(answer.status, answer.action):
            session.rollback()
            return answer
        taken.mark.commit()
        if answer.action:
            session.execute(update(_inbox).where(_inbox.c.id == taken.key).values(action=answer.action))
        session.commit()
        return answer

    def prune(self, session: Session, *, keep: timedelta) -> int:
        """Deletes what came longer ago, some rows at a time."""
        before, pruned = oldest_kept(self._clock.now_ms(), keep=keep), 0
        old = select(_inbox.c.id).where(_inbox.c.received_at < before).limit(PRUNE_ROWS)
        while rows := _rowcount(session.execute(delete(_inbox).where(_inbox.c.id.in_(old)))):
            session.commit()
            pruned += rows
        return pruned

    def _insert(self, session: Session, key: str) -> bool:
        dialect = session.get_bind().dialect.name
        if dialect not in {"postgresql", "sqlite"}:
            raise TypeError(f"the inbox works on PostgreSQL and SQLite, got {dialect}")
        insert = (postgresql if dialect == "postgresql" else sqlite).insert(_inbox)
        row = insert.values(id=key, received_at=self._clock.now_ms() // 1000, action="").on_conflict_do_nothing()
        # SQLAlchemy keeps no count of inserted rows on PostgreSQL.
        row = row.returning(_inbox.c.id)
        if dialect == "postgresql":
            waits = text("SELECT current_setting('lock_timeout'), set_config('lock_timeout', :wait, true)")
            [(before, _)] = session.execute(waits, {"wait": f"{self._wait_ms}ms"})
            is_new = session.execute(row).first() is not None
            session.execute(waits, {"wait": before})
            return is_new
        connection = session.connection()
        before = connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one()
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {self._wait_ms}")
        try:
            is_new = session.execute(row).first() is not None
        finally:
            connection.exec_driver_sql(f"PRAGMA busy_timeout = {before}")
        driver: Any = connection.connection.driver_connection
        if not driver.in_transaction:
            raise TypeError("the inbox needs an engine without AUTOCOMMIT: else its row stays where the work fails")
        return is_new


class _Inbox(Generic[Sessions]):
    """Keeps the keys of callbacks in a table beside your own, by sessions of SQLAlchemy.

    Args:
        sessions: makes sessions.
        wait: how long a callback waits for another of its job that is under way, before it is answered with 409. On
            SQLite it waits for any transaction that writes.
        clock: where the time comes from.
    """

    def __init__(
        self, sessions: Sessions, *, wait: timedelta = timedelta(seconds=1), clock: Clock | None = None
    ) -> None:
        self._sessions = sessions
        self._steps = _Steps(wait=wait, clock=clock)


class SessionInbox(_Inbox[sessionmaker[Session]]):
    __doc__ = _Inbox.__doc__

    def take(self, key: str, work: Callable[[Session], Answer]) -> Answer:
        """The answer of the work, done in the transaction that keeps the key; or that to a repeated callback.

        Raises what the work raises, and SQLAlchemy's error where the work has ended or spoilt its transaction.
        """
        with self._sessions() as session:
            taken = self._steps.begin(session, key)
            if isinstance(taken, Answer):
                return taken
            return self._steps.end(session, taken, work(session))

    def prune(self, *, keep: timedelta) -> int:
        """Forgets what came longer ago; returns how many rows that were.

        Args:
            keep: at least the biz types' ``max_age`` (a week, where there is none) and retention together.
        """
        with self._sessions() as session:
            return self._steps.prune(session, keep=keep)


class AsyncSessionInbox(_Inbox[async_sessionmaker[AsyncSession]]):
    """The same on asynchronous sessions."""

    async def take(self, key: str, work: Callable[[AsyncSession], Awaitable[Answer]]) -> Answer:
        """The answer of the work, done in the transaction that keeps the key; or that to a repeated callback.

        Raises what the work raises, and SQLAlchemy's error where the work has ended or spoilt its transaction.
        """
        async with self._sessions() as session:
            taken = await session.run_sync(self._steps.begin, key)
            if isinstance(taken, Answer):
                return taken
            answer = await work(session)
            return await session.run_sync(self._steps.end, taken, answer)

    async def prune(self, *, keep: timedelta) -> int:
        """Forgets what came longer ago; returns how many rows that were.

        Args:
            keep: at least the biz types' ``max_age`` (a week, where there is none) and retention together.
        """
        async with self._sessions() as session:
            return await session.run_sync(lambda plain: self._steps.prune(plain, keep=keep))


def _rowcount(result: Any) -> int:
    return int(result.rowcount)
