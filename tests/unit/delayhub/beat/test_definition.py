"""What follows from a definition that is new or changed: fingerprints, and the state that is written down."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from celery.beat import BeatLazyFunc
from celery.schedules import crontab, schedule

from delayhub.beat.definition import Bounds, Definition
from delayhub.beat.left_out import Unfit
from delayhub.engine.occurrences import PeriodicEntry
from tests.repository import ROOT

HOUR = 3_600_000
NOW = 1_800_000_000_000


def definition(seconds: float = 3600, bounds: Bounds | None = None, **fields: Any) -> Definition:
    given = {"name": "close", "task": "shop.close", "args": [], "kwargs": {}, "options": {}} | fields
    entry = SimpleNamespace(schedule=schedule(seconds), **given)
    return Definition(entry=entry, lane="celery", zone=UTC, bounds=bounds or Bounds())


def known(of: Definition, **fields: Any) -> PeriodicEntry:
    return replace(of.plan(None, now_ms=NOW - HOUR), last=NOW - HOUR, count=5, ran=5, seen=NOW - 1000, **fields)


def test_a_new_entry_occurs_an_interval_from_now() -> None:
    planned = definition().plan(None, now_ms=NOW)

    assert (planned.anchor, planned.next, planned.last, planned.count) == (NOW, NOW + HOUR, 0, 0)
    assert (planned.task, planned.words) == ("shop.close", "every 3600 s")


def test_an_entry_with_other_arguments_keeps_its_times() -> None:
    before = known(definition(), next=NOW + 7)

    planned = definition(args=["order-2"]).plan(before, now_ms=NOW)

    assert planned.print != before.print
    assert replace(planned, print=before.print) == replace(before, seen=0)


def test_another_interval_is_counted_from_the_last_occurrence_and_nothing_is_made_up_for() -> None:
    before = known(definition(), next=NOW)

    planned = definition(60).plan(before, now_ms=NOW)

    assert planned.anchor == before.last
    assert NOW - 1000 < planned.next <= NOW + 60_000
    assert (planned.count, planned.ran) == (5, 0)


def test_a_row_that_was_disabled_for_long_makes_up_for_nothing() -> None:
    before = known(definition(bounds=Bounds(edited_ms=1)), next=NOW - 100 * HOUR)

    planned = definition(bounds=Bounds(edited_ms=NOW - 5)).plan(before, now_ms=NOW)

    assert planned.next > NOW - 5


def test_a_row_that_is_edited_while_an_occurrence_is_due_keeps_it() -> None:
    before = known(definition(bounds=Bounds(edited_ms=1)), next=NOW - 100)

    assert definition(bounds=Bounds(edited_ms=NOW)).plan(before, now_ms=NOW).next == NOW - 100


def test_start_and_end() -> None:
    bounded = definition(bounds=Bounds(starts_ms=NOW + 5, ends_ms=NOW + HOUR, last_ms=NOW - 9 * HOUR))
    planned = bounded.plan(None, now_ms=NOW)

    assert planned.next == NOW + 5
    assert bounded.turn(planned, now_ms=NOW + 5).next_ms == 0
    assert bounded.turn(planned, now_ms=NOW + HOUR) == (0, 0)


def test_a_one_off_that_is_enabled_again_is_another_one() -> None:
    ran = known(definition(bounds=Bounds(runs_once=True, edited_ms=NOW - HOUR)), next=0)
    again = definition(bounds=Bounds(runs_once=True, edited_ms=NOW)).plan(ran, now_ms=NOW)

    assert again.ran == 0
    assert again.next > NOW


def odd() -> Definition:
    """One with arguments that JSON does not know."""
    return definition(args=[BeatLazyFunc(len, [1]), datetime(2026, 1, 1, tzinfo=UTC), {"a", "b", "c"}, object()])


def test_fingerprints_are_the_same_in_every_process() -> None:
    code = "from tests.unit.delayhub.beat.test_definition import odd; print(odd().print)"
    other = {**os.environ, "PYTHONHASHSEED": "7"}

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT, env=other)

    assert done.stdout.strip() == odd().print


def test_a_crontab_with_an_idle_step_is_in_doubt() -> None:
    made = definition()
    assert made.doubt == ""

    made.entry.schedule = crontab("*/61")
    assert made.doubt == "the step of */61 is larger than what it counts through"


@pytest.mark.parametrize(
    ("schedule_", "shortest_ms", "fault"),
    [
        (schedule(0), 1, "an interval must be at least 0.001 s, got 0 s"),
        (schedule(-5), 1, "an interval must be at least 0.001 s, got -5 s"),
        (schedule(0.5), 1000, "an interval must be at least 1 s, got 0.5 s"),
    ],
)
def test_an_interval_that_is_too_short_is_unfit(schedule_: schedule, shortest_ms: int, fault: str) -> None:
    made = definition()
    made.check(now_ms=NOW, shortest_ms=1000)

    made.entry.schedule = schedule_
    with pytest.raises(Unfit, match=re.escape(fault)):
        made.check(now_ms=NOW, shortest_ms=shortest_ms)
