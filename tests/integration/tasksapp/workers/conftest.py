"""A worker's parts, without its process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from django.db import OperationalError, connection

from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.completer import Completer
from tasksapp.timers.lanes import client
from tasksapp.timers.redis_clock import RedisClock
from tasksapp.workers.task_runner import TaskRunner, lease_keeper


@pytest.fixture
def clock() -> RedisClock:
    """Redis' time."""
    return RedisClock(client)


@pytest.fixture
def claimer(clock: RedisClock, db: None) -> Claimer:
    return Claimer(clock=clock, worker="w1", using="default")


@pytest.fixture
def completer(clock: RedisClock, db: None) -> Completer:
    return Completer(clock=clock, worker="w1", using="default")


@pytest.fixture
def runner(clock: RedisClock, db: None) -> TaskRunner:
    return TaskRunner(clock=clock, keeper=lease_keeper, worker="w1", using="default")


@pytest.fixture
def break_connection(transactional_db: None) -> Iterator[Callable[[], None]]:
    """Breaks this thread's database connection: its next statement fails, and those on a new one do not."""

    def refuse_once(*_: Any) -> None:
        connection.execute_wrappers.remove(refuse_once)
        raise OperationalError("the connection is broken")

    def break_it() -> None:
        if connection.vendor == "postgresql":
            with suppress(OperationalError), connection.cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        else:  # SQLite has no server that could end it
            connection.execute_wrappers.append(refuse_once)

    yield break_it
    connection.execute_wrappers.clear()
