"""The maintenance thread: no failure ends it."""

from __future__ import annotations

import threading
from datetime import timedelta
from types import SimpleNamespace

import pytest
import redis
from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from delayhub.clock import SystemClock
from delayhub.engine import TimerLane
from tasksapp.jobs.creation import create
from tasksapp.maintenance import thread as module
from tasksapp.maintenance.loader import Loader
from tasksapp.maintenance.thread import MaintenanceThread
from tasksapp.models import BizType, Job, Operation, Series
from tasksapp.series.verbs import create as create_series
from tasksapp.timers.lanes import without_redis
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def test_no_failure_of_one_turn_ends_the_thread(monkeypatch: pytest.MonkeyPatch, loader: Loader, db: None) -> None:
    thread = MaintenanceThread(loader)
    with monkeypatch.context() as broken:
        broken.setattr(loader, "_turn", lambda: 1 / 0)
        assert thread.run_once() is False

    assert thread.run_once() is True


def test_a_turn_that_finds_nothing_to_do_costs_a_statement_and_no_transaction(
    biz_type: BizType, loader: Loader, lane: TimerLane, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """With what is done every few seconds or minutes, an idle site asked eight a second, a third of them in vain."""
    thread = MaintenanceThread(loader)
    assert [thread.run_once(), thread.run_once()] == [True, True]
    # SQLite gives its rows no revision.
    statements = 1 if connection.vendor == "postgresql" else 2

    with django_assert_num_queries(statements):
        assert thread.run_once()


def test_operations_have_a_turn_as_soon_as_one_is_open(
    biz_type: BizType, loader: Loader, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = MaintenanceThread(loader)
    turns: list[None] = []
    monkeypatch.setattr(thread._operations, "run_once", lambda: turns.append(None))
    thread.run_once()
    assert not turns
    Operation.objects.create(verb="cancel", job_filter={}, state=Operation.State.PLANNING)

    thread.run_once()

    assert len(turns) == 1


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


def test_without_redis_series_go_on_by_the_clock_of_the_database(
    biz_type: BizType, lane: TimerLane, loader: Loader, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = create_series("order.close", name="hourly", every=timedelta(hours=1))
    # Another time than that of this machine.
    an_hour_ahead = SystemClock().now_ms() + 3_600_000
    monkeypatch.setattr(module, "database_now_ms", lambda *, using: an_hour_ahead)
    with without_redis():
        assert MaintenanceThread(loader).run_once() is False, "the loader needs Redis"

    assert Job.objects.filter(series=series).count() == 2
    assert 0 <= loader.clock.now_ms() - an_hour_ahead < 600_000


class Turns:
    """A loader whose turns are counted."""

    def __init__(self, loader: Loader, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.resigned = 0
        turn, resign = loader.run_once, loader.resign

        def count_turn() -> object:
            self.count += 1
            return turn()

        def count_resignation() -> None:
            self.resigned += 1
            resign()

        monkeypatch.setattr(loader, "run_once", count_turn)
        monkeypatch.setattr(loader, "resign", count_resignation)


def test_it_takes_turns_until_it_is_stopped_and_then_leaves_the_seat(
    biz_type: BizType, monkeypatch: pytest.MonkeyPatch, loader: Loader
) -> None:
    monkeypatch.setattr(module, "options", lambda: SimpleNamespace(sweep_seconds=0.001))
    turns = Turns(loader, monkeypatch)
    thread = MaintenanceThread(loader)

    thread.start()
    wait_until(lambda: turns.count >= 3)
    thread.stop()

    stopped_at = turns.count
    assert turns.resigned == 1
    assert Loader(using="default").run_once().held
    assert turns.count == stopped_at


@pytest.mark.parametrize("without", ["the seat", "Redis"])
def test_the_jobs_of_series_are_made_without_the_seat_and_without_redis(
    biz_type: BizType, monkeypatch: pytest.MonkeyPatch, loader: Loader, lane: TimerLane, without: str
) -> None:
    series = create_series("order.close", name="hourly", every=timedelta(hours=1))
    Job.objects.all().delete()
    due = timezone.now() - timedelta(seconds=1)  # a database's clock may count in ms
    Series.objects.update(next_occurrence_at=due, make_at=due)
    thread = MaintenanceThread(loader)
    if without == "the seat":
        assert Loader(using="default").run_once().held

        assert thread.run_once() is True
    else:
        with without_redis():
            assert thread.run_once() is False

    assert not thread.is_loader
    assert series.jobs.filter(occurrence_at=due).exists()


def test_a_redis_that_is_away_when_it_stops_is_no_obstacle(
    monkeypatch: pytest.MonkeyPatch, loader: Loader, db: None
) -> None:
    def refuse() -> None:
        raise redis.ConnectionError("refused")

    monkeypatch.setattr(loader, "resign", refuse)
    thread = MaintenanceThread(loader)
    thread.start()

    thread.stop()

    assert not thread._thread.is_alive()


def test_no_process_is_forked_in_the_middle_of_a_turn(
    monkeypatch: pytest.MonkeyPatch, loader: Loader, db: None
) -> None:
    began, ends = threading.Event(), threading.Event()

    def long_turn() -> object:
        began.set()
        ends.wait(60)
        raise OperationalError("ended")

    monkeypatch.setattr(loader, "run_once", long_turn)
    thread = MaintenanceThread(loader)
    turn = threading.Thread(target=thread.run_once)
    turn.start()
    assert began.wait(60)
    forked = threading.Event()

    def fork() -> None:
        thread._guard.pause()
        forked.set()
        thread._guard.go_on()

    forking = threading.Thread(target=fork)
    forking.start()
    assert not forked.wait(0.05)
    ends.set()

    assert forked.wait(60)
    forking.join()
    turn.join()
    assert not thread.run_once(), "the next turn can begin"
