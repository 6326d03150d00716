"""The inbox on connections of sqlite3 and psycopg."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from delayhub.receiver import Answer
from delayhub.receiver.dbapi import ConnectionInbox
from tests.integration.delayhub.receiver.inbox_rules import WAIT, InboxRules, does, fresh_postgres

pytestmark = pytest.mark.database


class ConnectionKit:
    """The inbox, and its works on connections."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect
        self._inbox = ConnectionInbox(connect, wait=WAIT)
        self._inbox.create_table()
        self.take = self._inbox.take

    def run(self, tx: Any, statement: str) -> Any:
        cursor = tx.execute(statement)
        return cursor.fetchone()[0] if cursor.description else None

    def commit(self, tx: Any) -> None:
        tx.commit()

    def rollback(self, tx: Any) -> None:
        tx.rollback()

    def effects(self) -> int:
        connection = self._connect()
        try:
            return int(self.run(connection, "SELECT count(*) FROM effect"))
        finally:
            connection.close()

    def prune(self, keep: timedelta) -> int:
        return self._inbox.prune(keep=keep)


def ways_to_connect() -> list[dict[str, Any]]:
    """How a connection of sqlite3 may start its transactions."""
    ways: list[dict[str, Any]] = [{}, {"isolation_level": None}]
    return [*ways, {"autocommit": True}, {"autocommit": False}] if sys.version_info >= (3, 12) else ways


@pytest.mark.sqlite_only
class TestSqlite(InboxRules):
    lock_wait, usual_wait = "PRAGMA busy_timeout", "5000"

    @pytest.fixture(params=ways_to_connect(), ids=str)
    def kit(self, request: pytest.FixtureRequest, tmp_path: Path) -> ConnectionKit:
        file = tmp_path / "shop.sqlite3"
        with sqlite3.connect(file) as connection:
            connection.execute("CREATE TABLE effect (n integer)")
        connection.close()
        return ConnectionKit(lambda: sqlite3.connect(file, **request.param))


@pytest.mark.postgresql_only
class TestPsycopg(InboxRules):
    @pytest.fixture
    def kit(self) -> Iterator[ConnectionKit]:
        with fresh_postgres() as url:
            with psycopg.connect(url) as connection:
                connection.execute("CREATE TABLE effect (n integer)")
            yield ConnectionKit(lambda: psycopg.connect(url, row_factory=psycopg.rows.tuple_row))

    def test_a_connection_with_autocommit_is_refused(self) -> None:
        with fresh_postgres() as url:
            inbox = ConnectionInbox(lambda: psycopg.connect(url, autocommit=True))

            with pytest.raises(TypeError, match="without autocommit"):
                inbox.take("job-1", lambda tx: Answer())


@pytest.mark.sqlite_only
def test_connections_of_a_pool_go_back_as_they_came(tmp_path: Path) -> None:
    only = sqlite3.connect(tmp_path / "shop.sqlite3")
    only.row_factory = sqlite3.Row
    released: list[Any] = []
    inbox = ConnectionInbox(lambda: only, release=released.append)
    inbox.create_table()
    only.execute("CREATE TABLE effect (n integer)")
    kit: Any = type("Kit", (), {"run": staticmethod(lambda tx, statement: tx.execute(statement))})

    answers = [inbox.take("job-1", does(kit)).status, inbox.take("job-1", does(kit)).status]

    assert answers == [204, 200]
    assert released == [only] * 3
    assert not only.in_transaction
    assert only.execute("PRAGMA busy_timeout").fetchone()[0] == 5000
    only.close()
