"""Backfills: occurrences of the past that have no job get one, once, at a pace.

``pages_of`` gives them pages of occurrences in the place of those of jobs.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from delayhub.testing import MovableClock
from tasksapp import operations, series
from tasksapp.access.actors import Actor
from tasksapp.errors import InvalidJob, SeriesNotFound
from tasksapp.models import BizType, Job, Operation, Series, Status
from tasksapp.operations import Starter
from tests.integration.tasksapp.operation_runs import ADA, turns, until, worked_off

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)


@pytest.fixture
def begin() -> datetime:
    """The beginning of the hour, ten hours ago."""
    return timezone.now().replace(minute=0, second=0, microsecond=0) - 10 * HOUR


@pytest.fixture
def hourly(biz_type: BizType, begin: datetime) -> Series:
    """A series that was made just now, and could have run each hour before."""
    return series.create("order.close", name="hourly", every=HOUR, anchor=begin, flow_key="tenant 1")


def counted(row: Series, *, by: Starter = ADA, **bounds: Any) -> Operation:
    """A backfill whose occurrences are counted."""
    operation = operations.plan_backfill(row.pk, by=by, **bounds)
    return until(operation, lambda now: now.state != "planning", given=turns())


def occurrences(row: Series) -> list[datetime | None]:
    return list(Job.objects.filter(series=row).order_by("occurrence_at").values_list("occurrence_at", flat=True))


def test_each_occurrence_that_has_no_job_gets_one_that_is_due_now(hourly: Series, begin: datetime) -> None:
    series.change(hourly.pk, raw=b"<report/>", content_type="application/xml")
    planned = counted(hourly, since=begin + HOUR, until=begin + 4 * HOUR, reason="a new report")
    assert (planned.planned, planned.state, len(occurrences(hourly))) == (3, "planned", 1)
    assert operations.progress(planned).sentence == "3 occurrences have no job. Nothing is made before the start."
    operations.start(planned.pk, by=ADA)
    done = worked_off(planned)
    again = counted(hourly, since=begin, until=begin + 5 * HOUR)

    assert (done.state, done.done, done.left) == ("done", 3, 0)
    assert operations.progress(done).sentence == "Done: 3 jobs were made."
    assert occurrences(hourly)[:3] == [begin + number * HOUR for number in (1, 2, 3)]
    made = Job.objects.filter(operation_id=done.pk)
    assert {bytes(job.raw or b"") for job in made} == {b"<report/>"}
    assert {(job.status, job.flow_key, job.created_by) for job in made} == {
        (Status.PENDING, "tenant 1", f"op {done.pk}")
    }
    assert all(abs(job.due_at - timezone.now()) < HOUR for job in made)
    # those that have a job are not counted again
    assert again.planned == 2


def test_it_keeps_its_pace_and_stops_when_it_is_told_to(hourly: Series, begin: datetime) -> None:
    planned, clock = counted(hourly, since=begin - 990 * HOUR, until=begin + 10 * HOUR), MovableClock()
    operations.start(planned.pk, by=ADA, rate_per_second=5)
    given, began = turns(clock), clock.monotonic()
    for _ in range(4):
        given.run_once()
        clock.advance(seconds=1)
    planned.refresh_from_db()

    seconds = clock.monotonic() - began  # four, and those that the machine took
    assert (planned.planned, planned.state) == (1_000, "running")
    assert 10 <= planned.done <= 5 * seconds + 10
    stopped = operations.stop(planned.pk, by=ADA)
    given.run_once()
    assert Job.objects.filter(operation_id=planned.pk).count() == stopped.done


@pytest.mark.parametrize("overlap", ["skip", "cancel"])
def test_jobs_that_may_not_overlap_are_made_one_after_another(hourly: Series, begin: datetime, overlap: str) -> None:
    series.change(hourly.pk, overlap=overlap)
    planned, clock = counted(hourly, since=begin, until=begin + 3 * HOUR), MovableClock()
    operations.start(planned.pk, by=ADA)
    mine, given = Job.objects.filter(operation_id=planned.pk), turns(clock)

    for number in (1, 2, 3):
        for _ in range(3):
            given.run_once()
            clock.advance(seconds=2)
        assert mine.count() == number
        planned.refresh_from_db()
        assert "may not overlap" in operations.progress(planned).sentence
        mine.update(status=Status.SUCCEEDED, finished_at=timezone.now())

    assert worked_off(planned, clock=clock).done == 3


def test_what_its_retention_has_deleted_meanwhile_is_not_made_again(hourly: Series, begin: datetime) -> None:
    planned, clock = counted(hourly, since=begin, until=begin + 3 * HOUR), MovableClock()
    operations.start(planned.pk, by=ADA, rate_per_second=1)
    given = turns(clock)

    for _ in range(10):
        given.run_once()
        clock.advance(seconds=1)
        Job.objects.filter(operation_id=planned.pk).delete()

    planned.refresh_from_db()
    assert (planned.state, planned.done) == ("done", 3)


def test_a_series_that_changes_or_goes_after_the_count_ends_it(hourly: Series, begin: datetime) -> None:
    changed = counted(hourly, since=begin, until=begin + 3 * HOUR)
    operations.start(changed.pk, by=ADA)
    series.change(hourly.pk, every=2 * HOUR)
    assert worked_off(changed).state_reason == "the schedule of its series was changed after the count"
    gone = counted(hourly, since=begin, until=begin + 3 * HOUR)
    operations.start(gone.pk, by=ADA)
    series.delete(hourly.pk)
    worked_off(gone)

    assert (gone.state, gone.state_reason) == ("stopped", "its series was deleted, or has no times any more")
    assert not Job.objects.exists()


def test_a_person_who_may_not_trigger_series_does_not_backfill(
    hourly: Series, begin: datetime, admin_user: Any
) -> None:
    starter = Starter(Actor("eve"), user_id=admin_user.pk)
    planned = counted(hourly, since=begin, until=begin + 3 * HOUR, by=starter)
    operations.start(planned.pk, by=starter)
    admin_user.is_superuser = False
    admin_user.save()

    assert worked_off(planned).state_reason == "eve may not backfill jobs any more"
    assert not Job.objects.filter(operation_id=planned.pk).exists()


@pytest.mark.parametrize(
    ("field", "bounds"),
    [
        ("until", {"until": HOUR}),
        ("until", {"until": -20 * HOUR}),
        ("since", {"naive": True}),
        ("since", {"since": HOUR}),
    ],
)
def test_what_cannot_be_backfilled_is_refused(hourly: Series, begin: datetime, field: str, bounds: Any) -> None:
    since = begin.replace(tzinfo=None) if "naive" in bounds else begin
    since = timezone.now() + bounds["since"] if "since" in bounds else since
    until_ = timezone.now() + bounds["until"] if "until" in bounds else None

    with pytest.raises(InvalidJob) as refusal:
        operations.plan_backfill(hourly.pk, since=since, until=until_, by=ADA)
    with pytest.raises(SeriesNotFound):
        operations.plan_backfill(hourly.pk + 1, since=begin, by=ADA)

    assert refusal.value.field == field
    assert not Operation.objects.exists()
