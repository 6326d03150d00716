"""``manage.py rebuild_timers``"""

from __future__ import annotations

from datetime import timedelta

import pytest

from delayhub.engine import TimerLane
from tasksapp.models import BizType
from tests.integration.tasksapp.commands import run_command
from tests.integration.tasksapp.stored_jobs import waiting

pytestmark = pytest.mark.django_db(transaction=True)


def test_timers_are_rebuilt_from_the_rows(biz_type: BizType, lane: TimerLane) -> None:
    waiting(1_100)
    waiting(2, delay=timedelta(days=1))
    lane.client.flushall()

    assert run_command("rebuild_timers") == "ensured 1100 timers\n"

    assert lane.count("order.close") == 1_100
    assert run_command("rebuild_timers") == "ensured 1100 timers\n"
    assert lane.count("order.close") == 1_100
