"""What the demo counts, and when it fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from delayhub.demo.receiver import Received
from delayhub.demo.report import FollowedJob, Report, follow, percentile, report_on
from delayhub.demo.scenario import PlannedJob, plan
from tests.client_models import job_like

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def followed_as_planned(job: PlannedJob, number: int) -> FollowedJob:
    fires_ms = int(job.fires_at.timestamp() * 1000) + 1
    answers = [503] * (job.attempts - 1) + [204] if job.final_status == "succeeded" else [500] * job.attempts
    callbacks = tuple(
        Received(str(number), job.biz_type.code, fires_ms + 3 + attempt * 1000, verified=True, status=status)
        for attempt, status in enumerate(answers)
    )
    return FollowedJob(job, str(number), job.final_status, job.attempts, callbacks)


@pytest.fixture
def jobs() -> list[FollowedJob]:
    return [followed_as_planned(job, n) for n, job in enumerate(plan(jobs=40, seconds=5, now=NOW, run="r"))]


def number(report: Report, name: str) -> int:
    [found] = [number.value for number in report.numbers if number.name == name]
    return found


def test_jobs_that_went_as_planned_are_right(jobs: Sequence[FollowedJob]) -> None:
    report = report_on(jobs)

    assert report.is_right, report
    assert number(report, "jobs") == 40
    assert number(report, "dead") == 4
    assert number(report, "retried") == 16
    assert 3 <= number(report, "lateness max, ms") <= 4
    assert report.table().row_count == len(report.numbers)


def spoil(jobs: Sequence[FollowedJob], one_that: str, **changes: object) -> list[FollowedJob]:
    spoilt = next(job for job in jobs if job.status == one_that)
    return [replace(job, **changes) if job is spoilt else job for job in jobs]  # type: ignore[arg-type]  # any field


def callback(job: FollowedJob, **changes: object) -> tuple[Received, ...]:
    return (replace(job.callbacks[0], **changes), *job.callbacks[1:])  # type: ignore[arg-type]  # any field


def test_a_lost_job_is_a_fault(jobs: Sequence[FollowedJob]) -> None:
    report = report_on(spoil(jobs, "succeeded", status="pending", attempts=0, callbacks=()))

    assert not report.is_right
    assert "is pending, must be succeeded" in report.faults[0]


def test_a_job_that_succeeded_without_its_receiver_is_a_fault(jobs: Sequence[FollowedJob]) -> None:
    assert not report_on(spoil(jobs, "succeeded", callbacks=())).is_right


def test_a_cancelled_job_that_was_sent_is_a_fault(jobs: Sequence[FollowedJob]) -> None:
    sent = next(job for job in jobs if job.callbacks)

    assert not report_on(spoil(jobs, "cancelled", callbacks=sent.callbacks)).is_right


def test_a_callback_too_many_is_a_fault(jobs: Sequence[FollowedJob]) -> None:
    first = next(job for job in jobs if job.status == "succeeded")

    assert not report_on(spoil(jobs, "succeeded", callbacks=first.callbacks * 2)).is_right


def test_a_job_that_fired_a_millisecond_early_is_a_fault(jobs: Sequence[FollowedJob]) -> None:
    first = next(job for job in jobs if job.status == "succeeded")
    early = int((first.planned.fires_at - timedelta(milliseconds=1)).timestamp() * 1000)

    report = report_on(spoil(jobs, "succeeded", callbacks=callback(first, at_ms=early)))

    assert not report.is_right
    assert number(report, "early") == 1


def test_lateness_alone_warns_and_is_no_fault(jobs: Sequence[FollowedJob]) -> None:
    first = next(job for job in jobs if job.status == "succeeded")
    assert not report_on(jobs).is_late

    report = report_on(spoil(jobs, "succeeded", callbacks=callback(first, at_ms=first.callbacks[0].at_ms + 5_000)))

    assert report.is_right
    assert report.is_late
    assert [number.name for number in report.numbers if "!" in number.mark] == ["lateness max, ms"]


def test_a_wrong_signature_is_counted(jobs: Sequence[FollowedJob]) -> None:
    first = next(job for job in jobs if job.status == "succeeded")

    report = report_on(spoil(jobs, "succeeded", callbacks=callback(first, verified=False)))

    assert number(report, "wrong signatures") == 1
    assert not report.is_right


def test_callbacks_of_other_runs_are_left_out(jobs: Sequence[FollowedJob]) -> None:
    job = jobs[0]
    received = [*job.callbacks, Received("another", "order.close", 1, verified=True, status=204)]

    assert follow({job.id: job.planned}, {job.id: job_like(status=job.status, attempts=job.attempts)}, received) == [
        job
    ]


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ([], 0.5, 0),  # nothing fired
        ([7], 0.99, 7),
        ([1, 2, 3, 4], 0.5, 2),  # half of them do not exceed 2
        (list(range(1, 101)), 0.99, 99),
        (list(range(1, 101)), 1, 100),
    ],
)
def test_percentile(values: list[int], share: float, expected: int) -> None:
    assert percentile(values, share) == expected
