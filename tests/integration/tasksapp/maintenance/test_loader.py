"""The loader's turns: timers brought, and brought back. Rows of lost workers are in test_lost_leases.py."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone

from delayhub.engine import TimerLane
from tasksapp.jobs.creation import Created, JobRequest, create, create_many
from tasksapp.maintenance import loader as loader_module
from tasksapp.maintenance.loader import Loader, Turn
from tasksapp.models import UNTIL_RESUMED, BizType, Job, Status
from tasksapp.sql import pending_rows
from tests.fixture_types import LoseTimers, MakeBizType

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_row_that_enters_the_window_gets_a_timer(
    biz_type: BizType, loader: Loader, lane: TimerLane, settings: Any
) -> None:
    create("order.close", delay=3_700)
    assert loader.run_once() == Turn(held=True, reloaded=True)
    assert lane.count() == 0
    settings.DELAYHUB = {**settings.DELAYHUB, "NEAR_WINDOW_SECONDS": 3_800}

    turn = loader.run_once()

    assert turn == Turn(held=True, entered=1)
    assert lane.count("order.close") == 1


def test_an_overdue_row_without_a_timer_gets_one(
    biz_type: BizType, loader: Loader, lane: TimerLane, lose_timers: LoseTimers
) -> None:
    loader.run_once()
    job_id = create("order.close").job_id
    Job.objects.update(next_run_at=timezone.now() - timedelta(seconds=3))
    lose_timers()

    turn = loader.run_once()

    assert turn.overdue == 1
    assert lane.claim().batches[0].ids == [str(job_id)]


def test_two_loaders_do_no_harm(biz_type: BizType, loader: Loader, lane: TimerLane) -> None:
    create("order.close", delay=60)
    other = Loader(using="default")

    loader.reload()
    other.reload()

    assert lane.count() == 1


def test_a_million_overdue_rows_of_a_paused_biz_type_cost_nothing(
    make_biz_type: MakeBizType,
    loader: Loader,
    lane: TimerLane,
    lose_timers: LoseTimers,
    django_assert_max_num_queries: Callable[[int], Any],
) -> None:
    make_biz_type("order.close", paused_until=UNTIL_RESUMED)
    make_biz_type("other")
    create_many([JobRequest(biz_type="order.close") for _ in range(3_000)])
    lose_timers()
    loader.run_once()

    with django_assert_max_num_queries(7):
        turn = loader.run_once()

    assert (turn.entered, turn.overdue) == (0, 0)
    assert lane.count("order.close") == 0


def test_when_a_pause_ends_the_window_and_the_backlog_come_back(
    make_biz_type: MakeBizType, loader: Loader, lane: TimerLane, lose_timers: LoseTimers
) -> None:
    make_biz_type("order.close", paused_until=UNTIL_RESUMED)
    create_many([JobRequest(biz_type="order.close", due_at=timezone.now() - timedelta(minutes=1)) for _ in range(90)])
    create_many([JobRequest(biz_type="order.close", delay=600) for _ in range(3)])
    loader.run_once()
    lose_timers()
    assert lane.claim().batches == []

    BizType.objects.update(paused_until=None, resumed_at=timezone.now())
    turn = loader.run_once()

    assert (turn.entered, turn.overdue) == (3, 90)
    # the ramp: five at once, then 50 a second
    assert 5 <= sum(len(batch.ids) for batch in lane.claim().batches) < 50


def test_a_backlog_is_walked_in_bounded_turns(
    biz_type: BizType,
    make_biz_type: MakeBizType,
    loader: Loader,
    lane: TimerLane,
    lose_timers: LoseTimers,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loader_module, "OVERDUE_PAGES", 2)
    monkeypatch.setattr("tasksapp.sql.pending_rows.PAGE_ROWS", 10)
    make_biz_type("other")
    loader.run_once()
    past = timezone.now() - timedelta(minutes=1)
    ids: list[UUID] = []
    for code in ("order.close", "other"):
        outcomes = create_many([JobRequest(biz_type=code, due_at=past) for _ in range(25)])
        ids += [outcome.job_id for outcome in outcomes]  # type: ignore[union-attr]  # none is rejected
    lose_timers()

    turns = [loader.run_once().overdue for _ in range(4)]

    assert turns[0] == 20
    assert max(turns) <= 20
    assert lane.count() == len(ids)


def test_a_backlog_that_has_its_timers_costs_a_page_a_turn_and_one_that_is_missing_is_found(
    biz_type: BizType, make_biz_type: MakeBizType, loader: Loader, lane: TimerLane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader_module, "OVERDUE_PAGES", 2)
    monkeypatch.setattr("tasksapp.sql.pending_rows.PAGE_ROWS", 10)
    for code in ("a", "b"):
        make_biz_type(code)
    loader.run_once()
    past = timezone.now() - timedelta(minutes=1)
    for code in ("a", "b", "order.close"):
        create_many([JobRequest(biz_type=code, due_at=past) for _ in range(25)])
    last = Job.objects.filter(biz_type=biz_type).order_by("next_run_at", "id").last()
    assert last is not None
    lane.cancel("order.close", [str(last.id)])

    turns = [loader.run_once().overdue for _ in range(5)]

    assert turns == [20, 20, 20, 10, 15]  # each turn goes on where the one before ended, two biz types on
    assert lane.count() == 75


def test_biz_types_without_work_cost_no_statement_of_their_own(
    make_biz_type: MakeBizType, loader: Loader, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    for number in range(30):
        make_biz_type(f"type.{number}")
        create(f"type.{number}", delay=600)
    for _ in range(2):  # the first loads, the second counts
        loader.run_once()

    with django_assert_max_num_queries(5):
        assert loader.run_once() == Turn(held=True)


def test_the_first_job_of_a_key_gets_a_timer_that_was_lost_and_those_behind_it_get_none(
    make_biz_type: MakeBizType, loader: Loader, lane: TimerLane
) -> None:
    """As where a worker is killed after it has committed an outcome, and before it has woken the next job."""
    make_biz_type("order.close", ordered=BizType.Ordered.BLOCKS)
    ids = {
        key: [create("order.close", flow_key=key, due_at=timezone.now() - timedelta(seconds=9)).job_id for _ in "123"]
        for key in ("anna", "eva")
    }
    loader.run_once()
    for key, (first, *_) in ids.items():
        Job.objects.filter(id=first).update(status=Status.SUCCEEDED, finished_at=timezone.now())
        lane.cancel("order.close", [str(first)], key=key)

    turn = loader.run_once()

    assert turn.overdue == 2
    for key, (_, second, third) in ids.items():
        assert [at is None for at in lane.look("order.close", [str(second), str(third)], key=key)] == [False, True]


def test_jobs_behind_a_dead_one_get_no_timers_and_do_not_keep_those_of_other_keys_from_theirs(
    make_biz_type: MakeBizType, loader: Loader, lane: TimerLane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader_module, "OVERDUE_PAGES", 1)
    monkeypatch.setattr(pending_rows, "PAGE_ROWS", 10)
    make_biz_type("order.close", ordered=BizType.Ordered.BLOCKS)
    early, late = (timezone.now() - timedelta(seconds=seconds) for seconds in (90, 9))
    dead, *_ = create_many([JobRequest("order.close", flow_key="anna", due_at=early) for _ in range(50)])
    assert isinstance(dead, Created)
    (waiting,) = create_many([JobRequest("order.close", flow_key="eva", due_at=late)])
    assert isinstance(waiting, Created)
    Job.objects.filter(id=dead.job_id).update(status=Status.DEAD, finished_at=timezone.now())
    loader.run_once()
    lane.cancel("order.close", [str(dead.job_id)], key="anna")
    lane.cancel("order.close", [str(waiting.job_id)], key="eva")

    loader.run_once()

    assert lane.look("order.close", [str(waiting.job_id)], key="eva") != [None]
    assert lane.count("order.close") == 1


def test_a_reload_brings_a_timer_for_the_first_job_of_each_key(
    make_biz_type: MakeBizType, loader: Loader, lane: TimerLane
) -> None:
    make_biz_type("order.close", ordered=BizType.Ordered.BLOCKS)
    create_many([JobRequest("order.close", flow_key=key, delay=60) for key in ("anna", "eva", "") for _ in range(3)])
    lane.client.flushdb()

    loader.reload()

    assert lane.count("order.close") == 2 + 3
