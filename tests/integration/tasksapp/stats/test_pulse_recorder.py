"""What processes count comes to the database, once and whole."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError
from django.db.models import Sum
from django.utils import timezone

from delayhub.clock import due_ms
from tasksapp.models import BizType, Pulse
from tasksapp.stats import pulse_recorder as module
from tasksapp.stats.pulse_recorder import Ended, PulseRecorder
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.at_once import at_once
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def recorder() -> Iterator[PulseRecorder]:
    made = PulseRecorder()
    yield made
    made.stop()


def ended(biz_type: BizType, *, error_class: str = "", lateness_ms: int = 5) -> Ended:
    return Ended(biz_type.id, error_class, False, lateness_ms, 20)


def add(recorder: PulseRecorder, *attempts: Ended) -> None:
    recorder.counts.add(attempts, now_ms=due_ms(timezone.now()))


def total(kind: str) -> int:
    return Pulse.objects.filter(kind=kind).aggregate(all=Sum("count"))["all"] or 0


def test_counts_are_added_to_those_that_are_there(biz_type: BizType, recorder: PulseRecorder) -> None:
    for _ in range(3):
        add(recorder, ended(biz_type), ended(biz_type, error_class="http.503"))
        recorder.run_once()

    assert (total("succeeded"), total("failed"), total("busy")) == (3, 3, 120)
    assert recorder.run_once() == 0
    assert set(Pulse.objects.values_list("span_seconds", flat=True)) == {60}


def test_processes_that_add_at_once_neither_wait_for_each_other_nor_lose_a_count(make_biz_type: MakeBizType) -> None:
    kinds = [make_biz_type(f"type.{number}") for number in range(5)]
    rounds, processes = 12, 4
    now_ms = due_ms(timezone.now())

    def process(number: int) -> None:
        own = PulseRecorder()
        for turn in range(rounds):
            # in another order each time, with buckets of its own and some that all share
            order = kinds[(number + turn) % 5 :] + kinds[: (number + turn) % 5]
            own.counts.add(
                [
                    ended(kind, error_class="" if late % 2 else "dns", lateness_ms=late * 50 + number)
                    for kind in order
                    for late in range(20)
                ],
                now_ms=now_ms,
            )
            # a deadlock would be an OperationalError, which is logged, and the counts would be kept
            assert own.run_once() > 0
            assert own.counts.take() == {}

    at_once(*[lambda number=number: process(number) for number in range(processes)])

    added = rounds * processes * 5 * 10
    assert (total("succeeded"), total("failed"), total("lateness")) == (added, added, 2 * added)


def test_what_cannot_be_written_is_written_later(
    biz_type: BizType, recorder: PulseRecorder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OperationalError("the database is away")

    add(recorder, ended(biz_type))
    with monkeypatch.context() as away:
        away.setattr(module, "add_pulses", refuse)
        assert recorder.run_once() == 0
    add(recorder, ended(biz_type))

    recorder.run_once()

    assert total("succeeded") == 2
    assert "numbers were not written, trying again" in caplog.text


def test_a_biz_type_that_was_deleted_has_no_numbers_and_holds_up_no_others(
    biz_type: BizType, make_biz_type: MakeBizType, recorder: PulseRecorder
) -> None:
    gone = make_biz_type("gone")
    add(recorder, ended(gone), ended(biz_type))
    gone.delete()

    recorder.run_once()

    assert set(Pulse.objects.values_list("biz_type_id", flat=True)) == {biz_type.id}


def test_many_counters_are_written_in_batches(
    biz_type: BizType, recorder: PulseRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH_ROWS", 3)
    add(recorder, *[ended(biz_type, lateness_ms=2**n) for n in range(10)])

    assert recorder.run_once() == 13
    assert total("lateness") == 10


def test_what_is_left_is_written_when_the_process_stops(
    biz_type: BizType, recorder: PulseRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FLUSH_SECONDS", 600.0)
    monkeypatch.setattr(module._phase, "uniform", lambda *_: 600.0)
    recorder.start()
    recorder.start()
    add(recorder, ended(biz_type))

    recorder.stop()

    assert total("succeeded") == 1
    assert not any(thread.name == "delayhub-pulses" for thread in threading.enumerate())


def test_counts_are_written_while_the_process_runs_and_no_failure_ends_that(
    biz_type: BizType, recorder: PulseRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FLUSH_SECONDS", 0.02)
    take, failed = recorder.counts.take, threading.Event()

    def fail_once() -> Any:
        if not failed.is_set():
            failed.set()
            raise ZeroDivisionError
        return take()

    monkeypatch.setattr(recorder.counts, "take", fail_once)
    add(recorder, ended(biz_type))
    recorder.start()

    wait_until(lambda: total("succeeded") == 1)


def test_a_child_begins_without_the_counts_of_its_parent(biz_type: BizType, recorder: PulseRecorder) -> None:
    add(recorder, ended(biz_type))

    recorder.forget()

    assert recorder.run_once() == 0
