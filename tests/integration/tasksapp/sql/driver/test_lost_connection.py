"""A connection that is of no use is closed at once, whatever way a statement took, and the next one opens another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any

import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.db import DatabaseError, InternalError, OperationalError, connection, connections, transaction

from delayhub.testing import without_timers
from tasksapp import jobs
from tasksapp.models import BizType, Job
from tasksapp.models.database_faults import is_away
from tasksapp.sql.driver.look import Look
from tasksapp.sql.driver.single_statement import SingleStatement

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql_only]

WRITE = "UPDATE delayhub_job SET version = version WHERE false"


@pytest.fixture(autouse=True)
def _own_connection() -> Iterator[None]:
    yield
    connection.close()


def become_standby() -> None:
    """Lets the connection refuse each write, as one to a standby does."""
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")


def lose(state: str) -> None:
    """Runs a statement that fails with that SQLSTATE."""
    with connection.cursor() as cursor:
        cursor.execute(f"DO $$ BEGIN RAISE EXCEPTION 'from a test' USING ERRCODE = '{state}'; END $$")


def by_cursor() -> None:
    with connection.cursor() as cursor:
        cursor.execute(WRITE)


def by_many() -> None:
    with connection.cursor() as cursor:
        cursor.executemany("UPDATE delayhub_job SET version = %s WHERE false", [(1,), (2,)])


def by_single_statement() -> None:
    SingleStatement(WRITE).rows(connection, [])


def by_look() -> None:
    look = Look("WITH w AS (DELETE FROM delayhub_job WHERE false RETURNING id) SELECT id FROM w", moments=[],
                postgresql={}, other={})  # fmt: skip
    look.rows(connection)


def by_model() -> None:
    Job.objects.update(version=1)


def in_a_transaction() -> None:
    with transaction.atomic():
        Job.objects.update(version=1)


def in_a_savepoint() -> None:
    with transaction.atomic(), transaction.atomic():
        Job.objects.update(version=1)


WAYS: list[Callable[[], None]] = [
    by_cursor, by_many, by_single_statement, by_look, by_model, in_a_transaction, in_a_savepoint,
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_connection_to_a_standby_is_closed_whatever_way_the_statement_took(way: Callable[[], None]) -> None:
    become_standby()

    with pytest.raises(InternalError) as refused:
        way()

    assert is_away(refused.value)
    assert connection.connection is None
    way()  # on a new connection


@pytest.mark.parametrize("state", ["57P01", "57P02", "57P03", "08000", "08006", "08P01", "25006"])
def test_each_state_of_a_server_that_leaves_closes_the_connection(state: str) -> None:
    with pytest.raises(DatabaseError):
        lose(state)

    assert connection.connection is None


@pytest.mark.parametrize("state", ["40001", "40P01", "53100", "55P03", "57014", "42P01", "22012", "23505"])
def test_other_errors_keep_it(state: str) -> None:
    with pytest.raises(DatabaseError):
        lose(state)

    assert connection.connection is not None


def test_a_connection_that_the_server_has_ended_is_closed(biz_type: BizType) -> None:
    for statement in (by_cursor, by_single_statement):
        connection.ensure_connection()
        pid = connection.connection.info.backend_pid
        with psycopg.connect(connection.connection.info.dsn, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])

        with pytest.raises(OperationalError):
            statement()

        assert connection.connection is None
        statement()


def test_it_is_closed_within_a_callers_transaction_too_and_the_caller_goes_on_with_another(biz_type: BizType) -> None:
    become_standby()

    with pytest.raises(InternalError), transaction.atomic(), without_timers():
        jobs.create("order.close", delay=60)

    assert connection.connection is None
    with without_timers():
        assert jobs.create("order.close", delay=60).created


@pytest.mark.parametrize("where", ["thread", "asynchronous"])
def test_it_is_closed_in_threads_and_in_asynchronous_code(where: str) -> None:
    seen: list[Any] = []

    def work() -> None:
        try:
            become_standby()
            with pytest.raises(InternalError):
                by_cursor()
            seen.append(connection.connection)
        finally:
            connections.close_all()

    async def refused() -> None:
        become = Job.objects.all()
        await sync_to_async(become_standby)()
        with pytest.raises(InternalError):
            await become.aupdate(version=1)
        seen.append(await sync_to_async(lambda: connection.connection)())
        await sync_to_async(connections.close_all)()

    if where == "thread":
        thread = Thread(target=work)
        thread.start()
        thread.join()
    else:
        asyncio.run(refused())

    assert seen == [None]
