"""What people do to jobs: the verbs, their guards, and what Redis is told."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import transaction
from django.utils import timezone

from delayhub.engine import TimerLane, due_ms
from tasksapp import jobs
from tasksapp.errors import InvalidJob, JobNotFound, SeveralJobs, VersionConflict, WrongState
from tasksapp.jobs import BulkOutcome
from tasksapp.jobs.creation import create
from tasksapp.models import BizType, Job, Status
from tests.fixture_types import MakeBizType
from tests.job_rows import job_row

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)


def made(*, status: Status = Status.PENDING, delay: timedelta = timedelta(minutes=30), **fields: Any) -> UUID:
    """A job of that status."""
    job_id = create("order.close", biz_id=fields.pop("biz_id", ""), delay=delay).job_id
    if status != Status.PENDING or fields:
        Job.objects.filter(id=job_id).update(status=status, **fields)
    return job_id


def timer_ms(lane: TimerLane, job_id: UUID) -> int | None:
    """When the job's timer fires; None where it has none."""
    score = lane.client.zscore(lane.keys.queue("order.close").waiting, str(job_id))
    return None if score is None else int(score) // 16


def test_a_cancelled_job_has_no_timer_and_never_runs(biz_type: BizType, lane: TimerLane) -> None:
    job_id = made()

    job = jobs.cancel(job_id)

    assert (job.status, job.version) == (Status.CANCELLED, 2)
    assert job.finished_at is not None
    assert lane.count() == 0


def test_a_moved_job_has_its_timer_at_the_new_time(biz_type: BizType, lane: TimerLane) -> None:
    job_id = made(delay=timedelta(minutes=10))

    later = jobs.reschedule(job_id, delay=timedelta(minutes=40))
    assert timer_ms(lane, job_id) == due_ms(later.due_at) == due_ms(later.next_run_at)

    sooner = jobs.reschedule(job_id, due_at=timezone.now() + timedelta(minutes=1))
    assert timer_ms(lane, job_id) == due_ms(sooner.due_at)

    # Beyond the window the row is enough.
    jobs.reschedule(job_id, delay=timedelta(days=3))
    assert timer_ms(lane, job_id) is None


def test_a_job_run_now_keeps_its_due_time(biz_type: BizType, lane: TimerLane) -> None:
    job_id = made(delay=timedelta(days=9))

    job = jobs.run_now(job_id)

    assert job.next_run_at <= timezone.now()
    assert job.due_at > timezone.now() + timedelta(days=8)
    assert lane.claim().batches[0].ids == [str(job_id)]


def test_a_redriven_job_has_a_new_budget(biz_type: BizType, lane: TimerLane) -> None:
    job_id = made(status=Status.DEAD, attempts=16, system_errors=3, finished_at=timezone.now(), last_error="503")

    job = jobs.redrive(job_id)

    assert (job.status, job.attempts, job.attempts_used, job.system_errors) == (Status.PENDING, 16, 0, 0)
    assert job.redriven_at is not None
    assert job.finished_at is None
    assert lane.claim().batches[0].ids == [str(job_id)]


def test_a_dropped_job_stays_where_it_is(biz_type: BizType) -> None:
    job_id = made(status=Status.DEAD)

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
    job_id = made(status=status)
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
    job_id = made(status=source, version=5)

    with pytest.raises(VersionConflict) as refused:
        VERBS[verb](job_id, version=4)
    assert (refused.value.version, refused.value.status) == (5, source)

    assert VERBS[verb](job_id, version=5).version == 6


@pytest.mark.parametrize("verb", list(VERBS))
def test_a_job_that_does_not_exist_is_not_found(db: None, verb: str) -> None:
    with pytest.raises(JobNotFound):
        VERBS[verb](uuid4())


def test_a_move_needs_a_time(biz_type: BizType) -> None:
    job_id = made()

    with pytest.raises(InvalidJob) as refused:
        jobs.reschedule(job_id)

    assert (refused.value.field, refused.value.code) == ("due_at", "required")


def test_a_change_that_is_rolled_back_leaves_the_timer_alone(biz_type: BizType, lane: TimerLane) -> None:
    job_id = made()
    before = timer_ms(lane, job_id)

    with pytest.raises(LookupError), transaction.atomic():
        jobs.cancel(job_id)
        raise LookupError

    assert timer_ms(lane, job_id) == before is not None


def test_verbs_work_without_redis(biz_type: BizType, settings: Any) -> None:
    job_id = made()
    settings.DELAYHUB = {"REDIS_URL": "redis://127.0.0.1:1/0"}

    jobs.reschedule(job_id, delay=HOUR)

    assert jobs.cancel(job_id).status == Status.CANCELLED


def test_many_are_changed_at_once_and_the_others_counted(biz_type: BizType, lane: TimerLane) -> None:
    pending = [made() for _ in range(3)]
    running = made(status=Status.RUNNING)
    dead = [made(status=Status.DEAD) for _ in range(2)]

    assert jobs.apply_many(jobs.Verb.CANCEL, [*pending[:1], running, *pending[:1]]) == BulkOutcome(1, 1)
    assert jobs.apply_many(jobs.Verb.RESCHEDULE, pending, delay=timedelta(minutes=5)) == BulkOutcome(2, 1)
    assert jobs.apply_many(jobs.Verb.RUN_NOW, [pending[1], uuid4()]) == BulkOutcome(1, 1)
    assert jobs.apply_many(jobs.Verb.REDRIVE, [dead[0], running]) == BulkOutcome(1, 1)
    assert jobs.apply_many(jobs.Verb.DROP, dead) == BulkOutcome(1, 1)

    now = timezone.now()
    assert timer_ms(lane, pending[0]) is None
    assert timer_ms(lane, pending[1]) is not None
    assert (timer_ms(lane, pending[2]) or 0) > due_ms(now)
    statuses = dict(Job.objects.values_list("id", "status"))
    assert statuses == {
        pending[0]: "cancelled",
        pending[1]: "pending",
        pending[2]: "pending",
        running: "running",
        dead[0]: "pending",
        dead[1]: "dropped",
    }


def test_more_than_one_transaction_of_jobs_can_be_cancelled(biz_type: BizType) -> None:
    ids = [job.id for job in Job.objects.bulk_create([job_row(biz_type) for _ in range(1_100)])]

    assert jobs.apply_many(jobs.Verb.CANCEL, ids) == BulkOutcome(1_100, 0)
    assert Job.objects.filter(status=Status.CANCELLED, version=2).count() == 1_100


def test_the_live_job_of_a_business_key_is_found(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    make_biz_type("other")
    create("other", biz_id="order-42")
    made(biz_id="order-42", status=Status.SUCCEEDED)
    live = made(biz_id="order-42")

    assert jobs.find_live("order.close", "order-42").id == live


def test_no_live_job_of_a_business_key_is_not_found(biz_type: BizType) -> None:
    made(biz_id="order-42", status=Status.CANCELLED)

    with pytest.raises(JobNotFound, match="order-42"):
        jobs.find_live("order.close", "order-42")


def test_several_live_jobs_of_a_business_key_are_listed_newest_first(biz_type: BizType) -> None:
    ids = [made(biz_id="order-42", status=status) for status in (Status.PENDING, Status.RUNNING)]

    with pytest.raises(SeveralJobs) as refused:
        jobs.find_live("order.close", "order-42")

    assert refused.value.ids == ids[::-1]
