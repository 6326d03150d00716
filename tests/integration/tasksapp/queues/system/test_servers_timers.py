"""A bounded look whether timers and rows agree."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from delayhub.clock import due_ms
from delayhub.engine import TimerLane
from tasksapp.models import UNTIL_RESUMED, BizType
from tasksapp.queues.system.servers import timers_section
from tests.fixture_types import MakeBizType
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db


class Jumps:
    """A clock of which each look takes an hour."""

    def __init__(self) -> None:
        self.at = 0.0

    def now_ms(self) -> int:
        return 0

    def monotonic(self) -> float:
        self.at += 3600.0
        return self.at


def row_of(**given: Any) -> list[Any]:
    [row] = timers_section(check=True, **given).rows
    return list(row)


def test_nothing_is_looked_at_unless_it_is_asked_for(biz_type: BizType) -> None:
    section = timers_section(check=False)

    assert (section.rows, section.as_json()["checked"]) == ((), False)


def test_each_difference_is_counted(biz_type: BizType, lane: TimerLane) -> None:
    right, late, missing, done = (store_job(biz_type, due_in=timedelta(minutes=5)) for _ in range(4))
    due = due_ms(right.next_run_at)
    lane.ensure(biz_type.code, [(str(right.id), due), (str(late.id), due + 60_000), (str(done.id), due)])
    done.delete()
    lane.ensure(biz_type.code, [("no job at all", due)])

    assert row_of() == [biz_type.code, 3, 4, 1, 1, 2]
    assert missing.id
    assert timers_section(check=True).warnings


def test_where_all_is_well_nothing_is_said(biz_type: BizType, lane: TimerLane) -> None:
    job = store_job(biz_type, due_in=timedelta(minutes=5))
    lane.ensure(biz_type.code, [(str(job.id), due_ms(job.next_run_at))])

    assert row_of() == [biz_type.code, 1, 1, 0, 0, 0]
    assert timers_section(check=True).warnings == []


def test_rows_of_a_paused_biz_type_need_no_timers(make_biz_type: MakeBizType, lane: TimerLane) -> None:
    store_job(make_biz_type("a.paused", paused_until=UNTIL_RESUMED), due_in=timedelta(minutes=5))

    assert row_of() == ["a.paused", 0, 0, 0, 0, 0]


def test_the_look_ends_with_its_time_and_says_what_it_left(make_biz_type: MakeBizType, lane: TimerLane) -> None:
    for code in ("a", "b", "c"):
        make_biz_type(code)

    section = timers_section(check=True, clock=Jumps())

    assert section.rows == []
    assert (section.as_json()["biz_types"], section.as_json()["all_biz_types"]) == (0, 3)
