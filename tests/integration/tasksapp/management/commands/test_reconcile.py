"""``manage.py reconcile``"""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management import CommandError
from django.utils import timezone

from delayhub.engine import TimerLane
from tasksapp.jobs.creation import create
from tasksapp.models import UNTIL_RESUMED, BizType
from tasksapp.timers.lanes import without_redis
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.commands import run_command
from tests.integration.tasksapp.stored_jobs import waiting
from tests.integration.tasksapp.stored_timers import spoil

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_command_mends_and_says_what(biz_type: BizType, lane: TimerLane) -> None:
    spoil(lane)

    assert run_command("reconcile").splitlines() == [
        "order.close: 4 rows, 0 overdue; 6 timers, 2 missing, 2 late, 2 stray",
        "mended",
    ]
    assert run_command("reconcile").splitlines() == [
        "order.close: 4 rows, 0 overdue; 4 timers, 0 missing, 0 late, 0 stray",
        "Redis is in step with the database",
    ]


def test_it_sets_all_timers_again_where_redis_has_none(biz_type: BizType, lane: TimerLane) -> None:
    waiting(1_100)
    waiting(2, delay=timedelta(days=1))
    lane.client.flushall()

    assert run_command("reconcile").splitlines() == [
        "order.close: 1,100 rows, 0 overdue; 1,100 timers, 1100 missing, 0 late, 0 stray",
        "mended",
    ]

    assert lane.count("order.close") == 1_100


def test_a_dry_run_fails_where_something_differs_and_changes_nothing(biz_type: BizType, lane: TimerLane) -> None:
    spoil(lane)

    for _ in range(2):
        with pytest.raises(CommandError, match="Redis differs") as failed:
            run_command("reconcile", "--dry-run")
        assert failed.value.returncode == 1
    run_command("reconcile")
    assert "in step" in run_command("reconcile", "--dry-run")


def test_overdue_jobs_are_shown_and_get_their_timers_back(biz_type: BizType, lane: TimerLane) -> None:
    overdue = [create("order.close", due_at=timezone.now() - timedelta(hours=1)).job_id for _ in range(2)]
    lane.cancel("order.close", [str(job_id) for job_id in overdue])

    first, warning, *_ = run_command("reconcile").splitlines()

    assert first == "order.close: 2 rows, 2 overdue; 2 timers, 2 missing, 0 late, 0 stray"
    assert warning.startswith("2 jobs are overdue")
    assert lane.count("order.close") == 2
    assert run_command("reconcile", "--dry-run").splitlines()[0] == (
        "order.close: 2 rows, 2 overdue; 2 timers, 0 missing, 0 late, 0 stray"
    )


def test_the_rows_of_a_paused_biz_type_are_left_out_and_that_is_said(make_biz_type: MakeBizType) -> None:
    make_biz_type("order.close", paused_until=UNTIL_RESUMED)
    create("order.close")

    assert "order.close: paused or disabled, needs no timers; 1 timer," in run_command("reconcile")


def test_a_redis_that_is_away_is_said(biz_type: BizType) -> None:
    with without_redis(), pytest.raises(CommandError, match="Redis does not answer, run it again when it does: "):
        run_command("reconcile")
