"""Outcomes are written in batches, and leases are renewed until they are; nothing is dropped for a failure."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tasksapp.delivery import outcome_writer as module
from tasksapp.delivery.callback import Callback
from tasksapp.delivery.outcome_writer import OutcomeWriter
from tasksapp.delivery.outcomes import CallbackResult, Delivered
from tests.callbacks import numbered_callback
from tests.unit.tasksapp.delivery.books import Books
from tests.waiting import wait_until


@pytest.fixture
def books() -> Books:
    return Books()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be written is tried again at once."""
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.001)


@pytest.fixture
def running(books: Books, quick: None) -> Iterator[OutcomeWriter]:
    """A writer with its thread."""
    writer = books.writer()
    writer.start()
    yield writer
    writer.stop()


def done(one: Callback) -> CallbackResult:
    return CallbackResult(callback=one, outcome=Delivered(), started_ms=1)


def take(writer: OutcomeWriter, count: int) -> list[Callback]:
    """So many callbacks, held and reported as done."""
    callbacks = [numbered_callback(n) for n in range(count)]
    writer.take(callbacks, room=1_000)
    writer.report(*map(done, callbacks))
    return callbacks


def written(books: Books) -> list[str]:
    return [result.callback.job_id for result in books.results]


def test_outcomes_are_written_in_batches_and_in_their_order(books: Books) -> None:
    writer = books.writer(flush_size=10)
    callbacks = take(writer, 25)

    left = []
    for _ in range(3):
        assert writer.run_once()
        left.append(writer.held)

    assert left == [15, 5, 0]
    assert written(books) == [one.job_id for one in callbacks]


def test_a_callback_is_held_until_its_outcome_is_written(books: Books) -> None:
    writer, one = books.writer(), numbered_callback(1)
    writer.take([one], room=10)
    assert (writer.held, writer.wait_until_idle(0)) == (1, False)

    writer.report(done(one))
    assert writer.held == 1
    writer.run_once()

    assert (writer.held, writer.wait_until_idle(0)) == (0, True)


def test_after_a_refusal_outcomes_are_written_one_by_one(books: Books) -> None:
    writer = books.writer(flush_size=10)
    take(writer, 3)
    books.refusals = 1

    assert not writer.run_once()
    assert written(books) == []
    counts = []
    for _ in range(3):
        assert writer.run_once()
        counts.append(len(books.results))

    assert counts == [1, 2, 3]


def test_outcomes_that_the_database_refused_are_written_later(running: OutcomeWriter, books: Books) -> None:
    books.refusals = 1
    callbacks = take(running, 3)

    assert running.wait_until_idle(20)

    assert sorted(written(books)) == [one.job_id for one in callbacks]


def test_an_outcome_that_cannot_be_written_holds_up_no_other(running: OutcomeWriter, books: Books) -> None:
    books.poison = "close-3"
    take(running, 8)

    wait_until(lambda: running.held == 1)

    assert sorted(written(books)) == [f"close-{n}" for n in range(8) if n != 3]


def test_leases_are_renewed_until_the_outcome_is_written(books: Books) -> None:
    writer, one = books.writer(renew_seconds=0.0), numbered_callback(1)
    writer.take([one], room=10)

    assert writer.run_once()
    writer.report(done(one))
    assert writer.run_once()
    assert writer.run_once()

    assert books.renewals == 1


def test_leases_that_could_not_be_renewed_are_tried_again_soon(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.0)
    writer = books.writer(renew_seconds=0.0)
    writer.take([numbered_callback(1)], room=10)
    fails = [True]
    renew = books.renew

    def fail_once(callbacks: object) -> None:
        if fails:
            fails.pop()
            raise RuntimeError("the database is away")
        renew(callbacks)  # type: ignore[arg-type]  # as it came

    writer._renew = fail_once

    assert not writer.run_once()
    assert writer.run_once()
    assert books.renewals == 1


def test_a_hand_over_waits_until_there_is_room(running: OutcomeWriter) -> None:
    first, second = numbered_callback(1), numbered_callback(2)
    running.take([first], room=1)
    entered = threading.Event()

    def hand_over() -> None:
        running.take([second], room=1)
        entered.set()

    thread = threading.Thread(target=hand_over)
    thread.start()
    assert not entered.wait(0.05)
    running.report(done(first))

    assert entered.wait(60)
    thread.join()
    running.report(done(second))
    assert running.wait_until_idle(20)


def test_what_is_reported_last_is_written_before_it_ends(books: Books, quick: None) -> None:
    writer = books.writer(flush_seconds=60)
    writer.start()
    take(writer, 3)

    writer.stop()

    assert len(books.results) == 3


def test_the_same_job_under_a_later_lease_is_another_callback(books: Books) -> None:
    writer, first = books.writer(), numbered_callback(1)
    later = replace(first, token=2)
    writer.take([first, later], room=10)

    writer.report(done(first))
    writer.run_once()

    assert writer.held == 1
