"""The thread that counts: only beside a loader that has the seat, and no failure ends it."""

from __future__ import annotations

import pytest
from django.db import OperationalError, connections

from delayhub.engine import SystemClock
from tasksapp.maintenance import counter as module
from tasksapp.maintenance.counter import Counter, CountingThread
from tasksapp.models import BizType, JobCount
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def thread(*, holds_seat: bool = True) -> CountingThread:
    counter = Counter(using="default", clock=SystemClock())
    return CountingThread(counter, holds_seat=lambda: holds_seat, using="default")


def test_it_counts_until_it_is_stopped(biz_type: BizType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.01)
    counting = thread()

    counting.start()
    wait_until(lambda: JobCount.objects.filter(biz_type=biz_type).exists())
    counting.stop()

    assert not counting._thread.is_alive()


def test_without_the_seat_it_does_nothing(biz_type: BizType) -> None:
    assert thread(holds_seat=False).run_once()
    assert not JobCount.objects.exists()


def test_it_keeps_its_connection_for_as_long_as_it_has_the_seat(
    biz_type: BizType, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[object] = []
    counting = thread()
    connection = connections["default"]
    monkeypatch.setattr(connection, "close", lambda: closed.append(connection))

    assert counting.run_once()
    assert counting.run_once()
    assert not closed

    monkeypatch.setattr(counting, "_holds_seat", lambda: False)
    assert counting.run_once()
    assert closed


@pytest.mark.parametrize("error", [OperationalError("the database is away"), ZeroDivisionError()])
def test_no_failure_ends_it(
    biz_type: BizType, error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    counting = thread()

    def fail() -> float:
        raise error

    with monkeypatch.context() as broken:
        broken.setattr(counting._counter, "run_once", fail)
        assert counting.run_once() is False

    assert counting.run_once()
    assert JobCount.objects.exists()
    assert "jobs were not counted, trying again" in caplog.text
