"""Operations under fire: what the result says is what the database holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Event, Thread
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import connections, transaction
from django.utils import timezone

from delayhub.testing import MovableClock
from tasksapp import jobs, operations
from tasksapp.access.actors import Actor
from tasksapp.models import ApiKey, BizType, Job, Operation, Status
from tasksapp.operations import Starter, runner
from tasksapp.operations.row import PageSize, Superseded
from tasksapp.operations.runner import Runner
from tests.integration.tasksapp.at_once import at_once
from tests.integration.tasksapp.operation_runs import (
    ADA,
    dead_jobs,
    planned,
    started,
    turns,
    until,
    worked_off,
)

pytestmark = pytest.mark.django_db(transaction=True)


def touched(operation: Operation) -> int:
    """The jobs that the database has as this operation's."""
    return Job.objects.filter(operation_id=operation.pk).count()


@contextmanager
def locked_by_others(ids: list[Any]) -> Iterator[Callable[[], None]]:
    """Rows that another connection holds until the block ends, or until what it gives is called."""
    held, let_go = Event(), Event()

    def hold() -> None:
        with transaction.atomic():
            list(Job.objects.filter(id__in=ids).select_for_update(no_key=True))
            held.set()
            let_go.wait(60)
        connections.close_all()

    thread = Thread(target=hold)
    thread.start()
    held.wait(60)
    try:
        yield let_go.set
    finally:
        let_go.set()
        thread.join()


# ------------------------------------------------------------ others on the same jobs


@pytest.mark.postgresql_only
def test_rows_that_others_hold_are_taken_in_a_later_pass(biz_type: BizType) -> None:
    ids = [job.id for job in dead_jobs(biz_type, 5_000)]
    operation, clock = started("drop", biz_type="order.close"), MovableClock()
    given = turns(clock)

    with locked_by_others(ids[100:1_400]) as let_go:
        until(operation, lambda now: now.done == 3_700, given=given, between=lambda: clock.advance(seconds=1))
        given.run_once()
        operation.refresh_from_db()
        assert (operation.state, operation.done) == ("running", 3_700)
        assert "somebody else is changing" in operations.progress(operation).sentence
        let_go()
        worked_off(operation, clock=clock)

    assert (operation.state, operation.done, operation.left) == ("done", 5_000, 0)
    assert touched(operation) == 5_000


@pytest.mark.postgresql_only
def test_rows_that_others_hold_until_the_end_are_named(biz_type: BizType) -> None:
    ids = [job.id for job in dead_jobs(biz_type, 20)]
    operation = started("drop", biz_type="order.close")

    with locked_by_others(ids[:2]):
        worked_off(operation)

    assert (operation.state, operation.done, operation.left) == ("done", 18, 2)
    assert all(str(job_id) in operation.state_reason for job_id in ids[:2])
    assert str(ids[0]) in operations.progress(operation).sentence


def test_jobs_that_change_and_die_meanwhile_are_counted_as_left(biz_type: BizType) -> None:
    ids = [job.id for job in dead_jobs(biz_type, 60)]
    operation, clock = started(biz_type="order.close", rate_per_second=5), MovableClock()
    given = turns(clock)
    given.run_once()
    operation.refresh_from_db()
    untouched = list(Job.objects.filter(status=Status.DEAD).values_list("id", flat=True))

    for job_id in untouched[:7]:
        jobs.drop(job_id)
    for job_id in untouched[7:10]:
        jobs.redrive(job_id)
        Job.objects.filter(id=job_id).update(status=Status.DEAD, updated_at=timezone.now())
    dead_jobs(biz_type, 4, updated_at=timezone.now() + timedelta(seconds=1))
    worked_off(operation, clock=clock)

    assert (operation.state, operation.done, operation.left) == ("done", 50, 10)
    assert touched(operation) == 50
    assert Job.objects.filter(id__in=ids, status=Status.DROPPED).count() == 7


def test_of_two_turns_at_the_same_moment_only_one_counts(biz_type: BizType) -> None:
    dead_jobs(biz_type, 300)
    operation, clock = started("drop", biz_type="order.close"), MovableClock()
    until_ = clock.monotonic() + 60

    def turn() -> str:
        try:
            Runner(using="default", clock=clock).run_once(Operation.objects.get(pk=operation.pk), until=until_)
        except Superseded:
            return "superseded"
        return "done"

    outcomes = at_once(turn, turn) if connections["default"].vendor == "postgresql" else [turn()]
    worked_off(operation, clock=clock)

    assert "done" in outcomes or operation.state == "done"
    assert (operation.done, operation.left, touched(operation)) == (300, 0, 300)


def test_a_turn_that_read_the_row_before_it_was_stopped_changes_nothing(biz_type: BizType) -> None:
    dead_jobs(biz_type, 10)
    operation = started("drop", biz_type="order.close")
    seen = Operation.objects.get(pk=operation.pk)
    operations.stop(operation.pk, by=ADA)

    with pytest.raises(Superseded):
        Runner(using="default", clock=MovableClock()).run_once(seen, until=0)

    operation.refresh_from_db()
    assert (operation.state, operation.done, touched(operation)) == ("stopped", 0, 0)


def test_a_turn_that_breaks_off_leaves_rows_counters_and_cursor_together(
    biz_type: BizType, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead_jobs(biz_type, 4_500)
    operation = started("drop", biz_type="order.close")
    saved, calls = runner.saved, []

    def breaks_off(*args: Any, **kwargs: Any) -> None:
        saved(*args, **kwargs)
        calls.append(kwargs)
        if len(calls) == 2:
            raise KeyboardInterrupt  # as if the process ended here, before its commit

    monkeypatch.setattr(runner, "saved", breaks_off)
    with pytest.raises(KeyboardInterrupt):
        Runner(using="default", clock=MovableClock()).run_once(operation, until=float("inf"))
    monkeypatch.undo()

    operation.refresh_from_db()
    assert operation.done == touched(operation) == PageSize.FIRST_BATCH
    worked_off(operation)
    assert (operation.done, operation.left, touched(operation)) == (4_500, 0, 4_500)


# ------------------------------------------------------------ the starter's rights


def no_permission(user: Any) -> None:
    user.user_permissions.clear()


def not_active(user: Any) -> None:
    user.is_active = False
    user.save()


def deleted(user: Any) -> None:
    user.delete()


@pytest.mark.parametrize(
    ("lose", "reason"),
    [
        (no_permission, "ada may not redrive jobs any more"),
        (not_active, "the account of ada is not active any more"),
        (deleted, "the account of ada was deleted"),
    ],
)
def test_it_stops_when_its_starter_lost_the_right(
    biz_type: BizType, django_user_model: Any, lose: Callable[[Any], None], reason: str
) -> None:
    dead_jobs(biz_type, 100)
    ada = django_user_model.objects.create_user("ada")
    ada.user_permissions.add(Permission.objects.get(codename="redrive_job"))
    operation, clock = (
        started(by=Starter(Actor("ada"), ada.pk), biz_type="order.close", rate_per_second=5),
        MovableClock(),
    )
    given = turns(clock)
    given.run_once()
    before = touched(operation)

    lose(ada)
    clock.advance(seconds=5)
    given.run_once()

    operation.refresh_from_db()
    assert (operation.state, operation.state_reason) == ("stopped", reason)
    assert 0 < before == touched(operation) == operation.done == 100 - operation.left


def test_it_stops_when_its_key_was_deleted(biz_type: BizType) -> None:
    dead_jobs(biz_type, 10)
    key = ApiKey.objects.create(name="checkout", prefix="dh_1", hashed_key="x")
    operation = started(by=Starter(Actor("api:checkout"), api_key_id=key.pk), biz_type="order.close")

    key.delete()
    turns().run_once()

    operation.refresh_from_db()
    assert (operation.state, operation.state_reason) == ("stopped", "the API key api:checkout was deleted")


def test_jobs_of_many_biz_types_share_the_pace(
    biz_type: BizType, make_biz_type: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasksapp.maintenance.operation_turns.SHARE", 100)  # the pace ends the turn, not a busy machine
    dead_jobs(biz_type, 100)
    dead_jobs(make_biz_type("other"), 100)
    operation, clock = started(rate_per_second=20), MovableClock()

    turns(clock).run_once()

    went = [
        Job.objects.filter(operation_id=operation.pk, biz_type__code=code).count() for code in ("order.close", "other")
    ]
    assert went == [pytest.approx(16, abs=2)] * 2
    worked_off(operation, clock=clock)
    assert operation.done == 200


def test_a_turn_whose_time_is_over_goes_on_with_the_next_biz_type(biz_type: BizType, make_biz_type: Any) -> None:
    others = [make_biz_type(f"other-{number}") for number in range(3)]
    for each in (biz_type, *others):
        dead_jobs(each, 5)
    operation, clock = started("drop"), MovableClock()

    went = []
    for _ in range(4):
        operation.refresh_from_db()
        Runner(using="default", clock=clock).run_once(operation, until=0)
        went.append(set(Job.objects.filter(status=Status.DROPPED).values_list("biz_type_id", flat=True)))

    assert [len(biz_types) for biz_types in went] == [1, 2, 3, 4]
    worked_off(operation, clock=clock)
    assert (operation.done, operation.left) == (20, 0)


def test_an_operation_on_nothing_is_done_at_once(biz_type: BizType) -> None:
    operation = worked_off(started(biz_type="order.close"))

    assert (operation.planned, operation.state, operation.done, operation.left) == (0, "done", 0, 0)
    assert planned("cancel").planned == 0
