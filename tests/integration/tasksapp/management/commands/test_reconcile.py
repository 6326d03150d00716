"""``manage.py reconcile``"""

from __future__ import annotations

import pytest
from django.core.management import CommandError

from delayhub.engine import TimerLane
from tasksapp.models import BizType
from tests.integration.tasksapp.commands import run_command
from tests.integration.tasksapp.stored_timers import spoil

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_command_mends_and_says_what(biz_type: BizType, lane: TimerLane) -> None:
    spoil(lane)

    assert run_command("reconcile").splitlines() == [
        "order.close: 4 rows, 6 timers; 2 missing, 2 late, 2 stray",
        "mended",
    ]
    assert run_command("reconcile").splitlines() == [
        "order.close: 4 rows, 4 timers; 0 missing, 0 late, 0 stray",
        "Redis is in step with the database",
    ]


def test_a_dry_run_fails_where_something_differs_and_changes_nothing(biz_type: BizType, lane: TimerLane) -> None:
    spoil(lane)

    for _ in range(2):
        with pytest.raises(CommandError, match="Redis differs") as failed:
            run_command("reconcile", "--dry-run")
        assert failed.value.returncode == 1
    run_command("reconcile")
    assert "in step" in run_command("reconcile", "--dry-run")
