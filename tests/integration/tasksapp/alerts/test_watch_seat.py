"""One process watches: a web process where there is one."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import timedelta

import pytest
import redis
from django.db.models.functions import Now
from pytest_django import DjangoAssertNumQueries

from delayhub.clock import SystemClock
from delayhub.engine.keys import watcher
from tasksapp.alerts.watch import LEASE, PATIENCE, Seat, Watch
from tasksapp.models import AlertWatch
from tasksapp.timers.lanes import without_redis

pytestmark = pytest.mark.django_db


def web() -> Seat:
    return Seat(using="default", is_worker=False)


def worker() -> Seat:
    return Seat(using="default", is_worker=True)


def let_pass(span: timedelta) -> None:
    AlertWatch.objects.update(until=Now() + LEASE - span)


def test_the_first_keeps_the_seat() -> None:
    first, second = web(), web()

    assert [first.take(), second.take(), first.take(), second.take()] == [True, False, True, False]


def test_a_web_process_takes_over_from_one_that_died() -> None:
    first, second = web(), web()
    first.take()

    let_pass(LEASE + timedelta(seconds=1))

    assert second.take()
    assert not first.take()


def test_a_worker_leaves_a_free_seat_to_web_processes_for_a_while() -> None:
    web().take()

    let_pass(LEASE + timedelta(seconds=1))
    assert not worker().take()

    let_pass(LEASE + PATIENCE + timedelta(seconds=1))
    assert worker().take()


def test_a_web_process_takes_the_seat_from_a_worker_at_once() -> None:
    first, second = worker(), web()
    first.take()

    assert second.take()
    assert not first.take()


def test_who_leaves_frees_the_seat_at_once() -> None:
    first, second = web(), worker()
    first.take()

    first.leave()

    assert second.take()


@pytest.mark.usefixtures("broker")
def test_while_redis_says_that_it_is_taken_the_database_is_not_asked(
    redis_client: redis.Redis, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    first, second = (Watch(using="default", clock=SystemClock()) for _ in range(2))
    assert first.run_once().held

    with django_assert_num_queries(0):
        assert not second.run_once().held
    assert first.run_once().held, "its holder asks all the same"
    assert 0 < redis_client.pttl(watcher()) <= LEASE.total_seconds() * 1000

    first.leave()
    assert second.run_once().held


@pytest.mark.usefixtures("broker")
@pytest.mark.parametrize("without", ["an answer", "its word", "a web process"])
def test_without_a_word_of_redis_the_database_is_asked(redis_client: redis.Redis, without: str) -> None:
    watch = Watch(using="default", clock=SystemClock())
    (worker if without == "a web process" else web)().take()
    let_pass(LEASE + timedelta(seconds=1))
    if without == "its word":
        redis_client.delete(watcher())

    with without_redis() if without == "an answer" else nullcontext():
        assert watch.run_once().held


@pytest.mark.usefixtures("broker")
def test_a_database_that_comes_back_is_asked_whatever_redis_says() -> None:
    watch = Watch(using="default", clock=SystemClock())
    watch.note_away()
    web().take()
    let_pass(LEASE + timedelta(seconds=1))

    assert watch.run_once().held
