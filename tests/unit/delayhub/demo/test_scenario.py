"""The demo's plan."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from delayhub.demo.samples import CLOSE_ORDER, PUSH_INVOICE, SEND_REMINDER
from delayhub.demo.scenario import Change, plan

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("jobs", [20, 300, 301])
def test_every_kind_of_job_is_there_however_few_they_are(jobs: int) -> None:
    planned = plan(jobs=jobs, seconds=15, now=NOW, run="r")

    assert len(planned) == jobs
    assert {job.biz_type for job in planned} == {CLOSE_ORDER, SEND_REMINDER, PUSH_INVOICE}
    assert {job.change for job in planned} == set(Change)
    assert {job.final_status for job in planned} == {"succeeded", "dead", "cancelled"}


def test_business_keys_are_unique() -> None:
    planned = plan(jobs=300, seconds=15, now=NOW, run="r")

    assert len({job.biz_id for job in planned}) == 300


def test_all_fire_within_the_seconds_asked_for_and_none_before_it_can_be_created() -> None:
    planned = plan(jobs=300, seconds=15, now=NOW, run="r")

    fires = [job.fires_at - NOW for job in planned]
    assert min(fires) >= timedelta(seconds=2)
    assert max(fires) - min(fires) <= timedelta(seconds=15)


def test_what_is_moved_is_moved_both_ways() -> None:
    planned = plan(jobs=300, seconds=15, now=NOW, run="r")

    for job in planned:
        match job.change:
            case Change.PUT_OFF:
                assert job.fires_at > job.due_at
            case Change.BRING_FORWARD:
                assert job.fires_at < job.due_at
            case _:
                assert job.fires_at == job.due_at


def test_the_numbers_of_three_hundred_jobs() -> None:
    planned = plan(jobs=300, seconds=15, now=NOW, run="r")

    assert Counter(job.final_status for job in planned) == {"succeeded": 240, "cancelled": 30, "dead": 30}
    # 150 orders once, 90 reminders and 30 invoices three times each
    assert sum(job.attempts for job in planned) == 510
