"""The inboxes on SQLAlchemy's sessions, synchronous and asynchronous."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import URL, create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.pool import NullPool
from sqlalchemy.schema import MetaData

from delayhub.receiver import Answer
from delayhub.receiver.sqlalchemy import AsyncSessionInbox, SessionInbox, inbox_table
from tests.integration.delayhub.receiver.inbox_rules import WAIT, InboxRules, fresh_postgres

pytestmark = pytest.mark.database


class SessionKit:
    """A synchronous inbox."""

    def __init__(self, url: str | URL, **options: Any) -> None:
        self.engine = create_engine(url, poolclass=NullPool, **options)
        metadata = MetaData()
        inbox_table(metadata)
        metadata.create_all(self.engine)
        with self.engine.begin() as connection:
            connection.execute(text("CREATE TABLE IF NOT EXISTS effect (n integer)"))
        self._inbox = SessionInbox(sessionmaker(self.engine), wait=WAIT)

    def take(self, key: str, work: Callable[[Session], Answer]) -> Answer:
        return self._inbox.take(key, work)

    def run(self, tx: Session, statement: str) -> Any:
        result: Any = tx.execute(text(statement))
        return result.scalar() if result.returns_rows else None

    def commit(self, tx: Session) -> None:
        tx.commit()

    def rollback(self, tx: Session) -> None:
        tx.rollback()

    def effects(self) -> int:
        with self.engine.connect() as connection:
            return int(connection.execute(text("SELECT count(*) FROM effect")).scalar_one())

    def prune(self, keep: timedelta) -> int:
        return self._inbox.prune(keep=keep)


class AsyncSessionKit(SessionKit):
    """An asynchronous inbox, in an event loop of each call's own."""

    def __init__(self, url: str | URL, *, asynchronous_url: str | URL) -> None:
        super().__init__(url)
        engine = create_async_engine(asynchronous_url, poolclass=NullPool)
        self._async_inbox = AsyncSessionInbox(async_sessionmaker(engine), wait=WAIT)

    def take(self, key: str, work: Callable[[Session], Answer]) -> Answer:
        async def later(session: AsyncSession) -> Answer:
            return await session.run_sync(work)

        return asyncio.run(self._async_inbox.take(key, later))

    def prune(self, keep: timedelta) -> int:
        return asyncio.run(self._async_inbox.prune(keep=keep))


def kit_of(request: pytest.FixtureRequest, url: str | URL, *, asynchronous_url: str | URL) -> SessionKit:
    return AsyncSessionKit(url, asynchronous_url=asynchronous_url) if request.param == "async" else SessionKit(url)


@pytest.mark.sqlite_only
class TestSqlite(InboxRules):
    lock_wait, usual_wait = "PRAGMA busy_timeout", "5000"

    @pytest.fixture(params=["sync", "async"])
    def kit(self, request: pytest.FixtureRequest, tmp_path: Path) -> SessionKit:
        path = f"{tmp_path}/shop.sqlite3"
        return kit_of(request, f"sqlite:///{path}", asynchronous_url=f"sqlite+aiosqlite:///{path}")

    def test_an_engine_with_autocommit_is_refused(self, tmp_path: Path) -> None:
        kit = SessionKit(f"sqlite:///{tmp_path}/shop.sqlite3", isolation_level="AUTOCOMMIT")

        with pytest.raises(TypeError, match="without AUTOCOMMIT"):
            kit.take("job-1", lambda tx: Answer())


@pytest.mark.postgresql_only
class TestPostgres(InboxRules):
    @pytest.fixture(params=["sync", "async"])
    def kit(self, request: pytest.FixtureRequest) -> Iterator[SessionKit]:
        with fresh_postgres() as url:
            given = {name: str(value) for name, value in conninfo_to_dict(url).items()}
            address = URL.create("postgresql+psycopg", database=given.pop("dbname"), query=given)
            yield kit_of(request, address, asynchronous_url=address)
