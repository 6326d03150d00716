"""A lock that keeps creates waiting is seen without waiting for it; a statement that waited too long is told by it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import Error, IntegrityError, OperationalError, connection

from tasksapp.models import BizType
from tasksapp.models.database_faults import is_lock_timeout
from tasksapp.stats import database_lock
from tasksapp.stats.database_lock import lock_on_jobs
from tasksapp.stats.delivery_health import DeliveryState, delivery_health

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def table_locked(mode: str) -> Iterator[None]:
    """Another connection holds such a lock on the table of jobs."""
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(f"LOCK TABLE delayhub_job IN {mode} MODE")
            yield
            cursor.execute("ROLLBACK")  # answered when the lock is free; a server hears of a close later
    finally:
        other.close()


@pytest.fixture(autouse=True)
def _noted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_lock, "NOTED_SECONDS", 0.0)


@pytest.mark.postgresql_only
@pytest.mark.parametrize("mode", ["ACCESS EXCLUSIVE", "EXCLUSIVE", "SHARE"])
def test_a_lock_that_keeps_creates_waiting_is_named(mode: str) -> None:
    with table_locked(mode):
        found = lock_on_jobs(using="default")
        health = delivery_health()

    assert found is not None
    assert health.state is DeliveryState.DATABASE_LOCKED
    assert "the table of jobs is locked since" in health.sentence
    assert str(found.pid) in health.detail
    assert lock_on_jobs(using="default") is None


@pytest.mark.postgresql_only
@pytest.mark.parametrize("mode", ["ROW EXCLUSIVE", "SHARE UPDATE EXCLUSIVE"])
def test_a_lock_beside_which_jobs_are_created_is_none(mode: str) -> None:
    with table_locked(mode):
        assert lock_on_jobs(using="default") is None


@pytest.mark.postgresql_only
def test_a_lock_of_a_moment_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_lock, "NOTED_SECONDS", 60.0)

    with table_locked("ACCESS EXCLUSIVE"):
        assert lock_on_jobs(using="default") is None


@pytest.mark.sqlite_only
def test_sqlite_has_none() -> None:
    assert lock_on_jobs(using="default") is None


@pytest.mark.postgresql_only
def test_a_statement_that_waited_too_long_is_told_from_others(biz_type: BizType) -> None:
    with table_locked("ACCESS EXCLUSIVE"), pytest.raises(Error) as waited, connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '50ms'; SELECT 1 FROM delayhub_job; ")
    with pytest.raises(IntegrityError) as doubled:
        BizType.objects.create(code=biz_type.code, url=biz_type.url)

    assert is_lock_timeout(waited.value)
    assert not is_lock_timeout(doubled.value)
    assert not is_lock_timeout(OperationalError("the connection is closed"))
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout TO DEFAULT")
