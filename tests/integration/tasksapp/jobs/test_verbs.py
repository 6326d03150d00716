"""Verbs: what they do to a job and to its timer, and when they are refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction
from django.utils import timezone

from delayhub.engine import TimerLane, due_ms
from tasksapp import jobs
from tasksapp.errors import InvalidJob, JobNotFound, VersionConflict, WrongState
from tasksapp.models import BizType, Job, Status
from tests.integration.tasksapp.stored_jobs import in_status
from tests.integration.tasksapp.stored_timers import timers_ms

pytestmark = pytest.mark.django_db(transaction=True)
HOUR = timedelta(hours=1)


def test_a_cancelled_job_has_no_timer_and_never_runs(biz_type: BizType, lane: TimerLane) -> None:
    job_id = in_status()

    job = jobs.cancel(job_id)

    assert (job.status, job.version) == (Status.CANCELLED, 2)
    assert job.finished_at is not None
    assert lane.count() == 0


def test_a_moved_job_has_its_timer_at_the_new_time(biz_type: BizType, lane: TimerLane) -> None:
    job_id = in_status(delay=timedelta(minutes=10))

    later = jobs.reschedule(job_id, delay=timedelta(minutes=40))
    assert timers_ms(lane).get(str(job_id)) == due_ms(later.due_at) == due_ms(later.next_run_at)

    sooner = jobs.reschedule(job_id, due_at=timezone.now() + timedelta(minutes=1))
    assert timers_ms(lane).get(str(job_id)) == due_ms(sooner.due_at)

    # Beyond the window the row is enough.
    jobs.reschedule(job_id, delay=timedelta(days=3))
    assert timers_ms(lane).get(str(job_id)) is None


def test_a_job_run_now_keeps_its_due_time(biz_type: BizType, lane: TimerLane) -> None:
    job_id = in_status(delay=timedelta(days=9))

    job = jobs.run_now(job_id)

    assert job.next_run_at <= timezone.now()
    assert job.due_at > timezone.now() + timedelta(days=8)
    assert lane.claim().batches[0].ids == [str(job_id)]


def test_a_redriven_job_has_a_new_budget(biz_type: BizType, lane: TimerLane) -> None:
    job_id = in_status(Status.DEAD, attempts=16, system_errors=3, finished_at=timezone.now(), last_error="503")

    job = jobs.redrive(job_id)

    assert (job.status, job.attempts, job.attempts_used, job.system_errors) == (Status.PENDING, 16, 0, 0)
    assert job.redriven_at is not None
    assert job.redrives == 1
    assert job.finished_at is None
    assert lane.claim().batches[0].ids == [str(job_id)]


def test_a_dropped_job_stays_where_it_is(biz_type: BizType) -> None:
    job_id = in_status(Status.DEAD)

    assert jobs.drop(job_id).status == Status.DROPPED
    with pytest.raises(WrongState):
        jobs.redrive(job_id)


VERBS: dict[str, Callable[..., Job]] = {
    "cancel": jobs.cancel,
    "reschedule": lambda job_id, **options: jobs.reschedule(job_id, delay=HOUR, **options),
    "run now": jobs.run_now,
    "redrive": jobs.redrive,
    "drop": jobs.drop,
}
SOURCES = {str(verb): verb.source for verb in jobs.Verb}


@pytest.mark.parametrize("status", list(Status))
@pytest.mark.parametrize("verb", list(VERBS))
def test_a_verb_works_where_the_table_allows_it_and_nowhere_else(biz_type: BizType, verb: str, status: Status) -> None:
    job_id = in_status(status)
    before = Job.objects.values().get()

    if status == SOURCES[verb]:
        assert VERBS[verb](job_id).version == 2
    else:
        with pytest.raises(WrongState) as refused:
            VERBS[verb](job_id)
        assert (refused.value.status, refused.value.verb) == (status, verb)
        assert Job.objects.values().get() == before


@pytest.mark.parametrize("verb", list(VERBS))
def test_a_verb_that_names_a_version_meets_that_one_only(biz_type: BizType, verb: str) -> None:
    source = SOURCES[verb]
    job_id = in_status(source, version=5)

    with pytest.raises(VersionConflict) as refused:
        VERBS[verb](job_id, version=4)
    assert (refused.value.version, refused.value.status) == (5, source)

    assert VERBS[verb](job_id, version=5).version == 6


@pytest.mark.parametrize("verb", list(VERBS))
def test_a_job_that_does_not_exist_is_not_found(db: None, verb: str) -> None:
    with pytest.raises(JobNotFound):
        VERBS[verb](uuid4())


def test_a_move_needs_a_time(biz_type: BizType) -> None:
    job_id = in_status()

    with pytest.raises(InvalidJob) as refused:
        jobs.reschedule(job_id)

    assert (refused.value.field, refused.value.code) == ("due_at", "required")


def test_a_change_that_is_rolled_back_leaves_the_timer_alone(biz_type: BizType, lane: TimerLane) -> None:
    job_id = in_status()
    before = timers_ms(lane).get(str(job_id))

    with pytest.raises(LookupError), transaction.atomic():
        jobs.cancel(job_id)
        raise LookupError

    assert timers_ms(lane).get(str(job_id)) == before is not None


def test_verbs_work_without_redis(biz_type: BizType, settings: Any) -> None:
    job_id = in_status()
    settings.DELAYHUB = {"REDIS_URL": "redis://127.0.0.1:1/0"}

    jobs.reschedule(job_id, delay=HOUR)

    assert jobs.cancel(job_id).status == Status.CANCELLED


@pytest.mark.parametrize("place", ["verbs", "writing"])
def test_a_timer_that_fails_after_the_commit_neither_raises_nor_loses_the_change(
    biz_type: BizType, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def fail(*args: object) -> None:
        raise RuntimeError("an error that the verb does not expect")

    job_id = in_status()
    monkeypatch.setattr(f"tasksapp.jobs.{place}.{'follow' if place == 'verbs' else 'arm'}", fail)

    made = jobs.create("order.close", biz_id="beside")
    cancelled = jobs.cancel(job_id)
    many = jobs.apply_many(jobs.Verb.CANCEL, [made.job_id])

    assert cancelled.status == Status.CANCELLED
    assert many.changed == 1
    assert set(Job.objects.values_list("status", flat=True)) == {Status.CANCELLED}
