"""The sentence of a job's page: what happens next, and what holds it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tasksapp.admin.jobs.sentence import job_sentence
from tasksapp.jobs.timer_look import TimerState
from tasksapp.models import BizType, Job, Status

NOW = datetime(2026, 11, 22, 22, 4, 4, tzinfo=UTC)
AGO = NOW - timedelta(minutes=3)
PAUSED = "order.close is paused by ada"


def job(
    status: Status, *, guarantee: str = "at_least_once", target: str = "http", on_resolved: str = "", **fields: Any
) -> Job:
    biz_type = BizType(code="order.close", guarantee=guarantee, target=target, on_resolved=on_resolved)
    values: dict[str, Any] = {"next_run_at": NOW, "due_at": NOW, "updated_at": NOW, "finished_at": AGO, **fields}
    return Job(biz_type=biz_type, status=status, **values)


@pytest.mark.parametrize(
    ("given", "options", "sentence"),
    [
        (
            job(Status.PENDING, next_run_at=NOW + timedelta(minutes=27)),
            {"timer": TimerState.SET},
            "Due in 27 min (22:31:04 UTC); timer set; nothing holds it.",
        ),
        (
            job(Status.PENDING, next_run_at=NOW + timedelta(minutes=27)),
            {"timer": TimerState.SET, "zone": ZoneInfo("Asia/Shanghai")},
            "Due in 27 min (22:31:04 UTC, 06:31 Asia/Shanghai); timer set; nothing holds it.",
        ),
        (
            job(Status.PENDING, next_run_at=NOW + timedelta(days=3)),
            {"timer": TimerState.NOT_NEEDED},
            "Due in 3 d (2026-11-25 22:04:04 UTC); its timer is set when the time comes near; nothing holds it.",
        ),
        (
            job(Status.PENDING, next_run_at=NOW + timedelta(seconds=41)),
            {"timer": TimerState.MISSING},
            "Due in 41 s (22:04:45 UTC); no timer yet, the loader sets it soon; nothing holds it.",
        ),
        (
            job(Status.PENDING, next_run_at=NOW + timedelta(minutes=27)),
            {"timer": TimerState.SET, "held": PAUSED},
            f"Due in 27 min (22:31:04 UTC); timer set; held if this lasts until then: {PAUSED}.",
        ),
        (
            job(Status.PENDING, next_run_at=NOW + timedelta(minutes=27)),
            {"timer": TimerState.UNKNOWN, "held": "Redis does not answer"},
            "Due in 27 min (22:31:04 UTC); held if this lasts until then: Redis does not answer.",
        ),
        (
            job(Status.PENDING, next_run_at=NOW + timedelta(seconds=40), attempts=2),
            {"timer": TimerState.SET, "error": "status 500"},
            (
                "Tried again in 40 s (22:04:44 UTC), attempt 3 of 16; the last failed: status 500; timer set;"
                " nothing holds it."
            ),
        ),
        (
            job(Status.PENDING, next_run_at=NOW + timedelta(seconds=40), attempts=2),
            {"timer": TimerState.SET},
            "Tried again in 40 s (22:04:44 UTC), attempt 3 of 16; timer set; nothing holds it.",
        ),
        (
            job(Status.PENDING, next_run_at=AGO),
            {"held": PAUSED},
            f"Waits, due for 3 min (22:01:04 UTC): {PAUSED}.",
        ),
        (job(Status.PENDING, next_run_at=AGO), {}, "Due for 3 min (22:01:04 UTC): the next free worker takes it."),
        (
            job(Status.PENDING, next_run_at=AGO, attempts=1, max_attempts=3),
            {},
            "Due for 3 min (22:01:04 UTC), attempt 2 of 3: the next free worker takes it.",
        ),
        (
            job(Status.RUNNING, updated_at=NOW - timedelta(seconds=12), worker="w1", attempts=2),
            {},
            "Running for 12 s on worker w1, attempt 3 of 16.",
        ),
        (
            job(Status.RUNNING, worker="w1", attempts=1, guarantee="at_most_once"),
            {},
            "Running for 0 ms on worker w1, attempt 1 of 16.",
        ),
        (
            job(Status.RUNNING, updated_at=AGO, worker="w1", lease_until=NOW - timedelta(seconds=5)),
            {},
            (
                "Running for 3 min on worker w1, attempt 1 of 16."
                " Its worker has not been heard of for 5 s: another one takes it soon."
            ),
        ),
        (
            job(Status.DEAD, finished_at=AGO),
            {"error": "the receiver answered 500 three times"},
            "Dead since 22:01:04 UTC: the receiver answered 500 three times.",
        ),
        (job(Status.DEAD, finished_at=AGO), {}, "Dead since 22:01:04 UTC."),
        (job(Status.DEAD, finished_at=None), {}, "Dead since an unknown time."),
        (job(Status.SUCCEEDED, attempts=2), {}, "Done at 22:01:04 UTC, by attempt 2."),
        (job(Status.CANCELLED), {}, "Cancelled at 22:01:04 UTC; it never runs."),
        (
            job(Status.CANCELLED, error_class="resolved", changed_by="ada"),
            {},
            "Its biz id was resolved at 22:01:04 UTC; it never runs.",
        ),
        (
            job(Status.CANCELLED, error_class="resolved", on_resolved="order.paid"),
            {},
            "Answered at 22:01:04 UTC; it never runs.",
        ),
        (job(Status.CANCELLED, changed_by="ada"), {}, "Cancelled at 22:01:04 UTC by ada; it never runs."),
        (
            job(Status.SKIPPED),
            {},
            "Skipped at 22:01:04 UTC: it was too late, and its biz type says to skip then.",
        ),
        (job(Status.DROPPED), {}, "Dropped; it died at 22:01:04 UTC."),
        (job(Status.DROPPED, changed_by="ada"), {}, "Dropped by ada; it died at 22:01:04 UTC."),
    ],
)
def test_it_says_what_happens_next_or_how_it_ended(given: Job, options: dict[str, Any], sentence: str) -> None:
    assert job_sentence(given, now=NOW, **options) == sentence


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            job(Status.PENDING, target="pull", next_run_at=AGO),
            "Due for 3 min (22:01:04 UTC), attempt 1 of 16: it waits for a puller.",
        ),
        (
            job(Status.RUNNING, target="pull", updated_at=AGO, worker="api:w", lease_until=NOW + timedelta(minutes=1)),
            "Held for 3 min by the puller api:w until 22:05:04 UTC, attempt 1 of 16.",
        ),
        (
            job(Status.RUNNING, target="pull", updated_at=AGO, worker="api:w", lease_until=NOW - timedelta(minutes=1)),
            (
                "Held for 3 min by the puller api:w, attempt 1 of 16; its lease ended at 22:03:04 UTC, and the job"
                " comes back soon."
            ),
        ),
    ],
)
def test_a_pulled_job_waits_for_pullers_and_is_held_by_one(given: Job, sentence: str) -> None:
    assert job_sentence(given, now=NOW) == sentence
