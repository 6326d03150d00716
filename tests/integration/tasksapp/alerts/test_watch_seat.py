"""One process watches: a web process where there is one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from tasksapp.alerts.watch import LEASE, PATIENCE, Seat
from tasksapp.models import AlertWatch

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


@pytest.mark.parametrize(("make", "most"), [(web, LEASE), (worker, LEASE + PATIENCE)])
def test_who_has_to_wait_knows_how_long_at_least(make: Callable[[], Seat], most: timedelta) -> None:
    web().take()
    waiting = make()

    assert not waiting.take()

    assert most.total_seconds() - 5 < waiting.taken_seconds <= most.total_seconds()
