"""The maintenance thread: no failure ends it."""

from __future__ import annotations

import pytest
from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

from delayhub.engine import TimerLane
from tasksapp.jobs.creation import create
from tasksapp.maintenance.loader import Loader
from tasksapp.maintenance.thread import MaintenanceThread
from tasksapp.models import BizType

pytestmark = pytest.mark.django_db(transaction=True)


def test_no_failure_of_one_turn_ends_the_thread(monkeypatch: pytest.MonkeyPatch, loader: Loader, db: None) -> None:
    thread = MaintenanceThread(loader)
    with monkeypatch.context() as broken:
        broken.setattr(loader, "_turn", lambda: 1 / 0)
        assert thread.run_once() is False

    assert thread.run_once() is True


def test_a_database_that_refuses_connections_costs_turns_and_no_timer(
    biz_type: BizType, monkeypatch: pytest.MonkeyPatch, loader: Loader, lane: TimerLane
) -> None:
    create("order.close", delay=60)
    thread = MaintenanceThread(loader)

    def refuse(self: object) -> None:
        raise OperationalError("connection refused")

    with monkeypatch.context() as away:
        away.setattr(BaseDatabaseWrapper, "ensure_connection", refuse)
        assert [thread.run_once(), thread.run_once()] == [False, False]
        assert lane.count("order.close") == 1

    assert thread.run_once() is True
