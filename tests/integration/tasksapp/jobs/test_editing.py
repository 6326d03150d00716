"""Editing a waiting job: what changes, what follows, and when it is refused."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from delayhub.engine import TimerLane, due_ms
from tasksapp import jobs
from tasksapp.access.actors import Actor
from tasksapp.delivery.own_request import read_own_request
from tasksapp.errors import InvalidJob, JobNotFound, KeyResolved, KeyTaken, OneIsLive, VersionConflict, WrongState
from tasksapp.jobs.written_json import read_json
from tasksapp.models import AuditEntry, BizType, Job, Status
from tasksapp.models.encrypted_text import open_sealed
from tests.integration.tasksapp.stored_jobs import in_status
from tests.integration.tasksapp.stored_timers import timers_ms

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]
ADA = Actor("ada", "192.0.2.7")


def test_the_fields_that_are_given_change_and_no_others(biz_type: BizType) -> None:
    job_id = in_status(biz_id="order-7")
    before = Job.objects.get(id=job_id)

    job = jobs.edit(job_id, priority=1, max_attempts=3, by=ADA)

    stored = Job.objects.get(id=job_id)
    assert (job.priority, job.max_attempts, job.version) == (1, 3, 2)
    assert (stored.priority, stored.max_attempts, stored.version, stored.changed_by) == (1, 3, 2, "ada")
    assert (stored.body, stored.due_at, stored.biz_id) == (before.body, before.due_at, "order-7")


def test_a_biz_id_changes_unless_that_one_is_resolved_or_has_a_live_job(biz_type: BizType) -> None:
    BizType.objects.update(one_live="refuse")
    job_id, other = (jobs.create("order.close", biz_id=key, delay=60).job_id for key in ("1", "2"))
    jobs.resolve("order.close", "3")

    jobs.edit(job_id, biz_id="4", priority=2)
    with pytest.raises(OneIsLive) as taken:
        jobs.edit(job_id, biz_id="2")
    with pytest.raises(KeyResolved):
        jobs.edit(job_id, biz_id="3")
    jobs.create("order.close", biz_id="1")

    assert taken.value.job_id == other
    assert sorted(Job.objects.values_list("biz_id", "live_key")) == [("1", "1"), ("2", "2"), ("4", "4")]


def test_a_body_keeps_the_text_that_a_person_wrote(biz_type: BizType) -> None:
    job_id = in_status()

    jobs.edit(job_id, body=read_json(' {"amount": 1e2, "order": 90071992547409931}\n'))

    assert Job.objects.get().body == '{"amount": 1e2, "order": 90071992547409931}'


def test_another_time_moves_the_timer(biz_type: BizType, lane: TimerLane) -> None:
    job_id = in_status(delay=timedelta(minutes=10))

    job = jobs.edit(job_id, due_at=timezone.now() + timedelta(minutes=5))

    assert timers_ms(lane) == {str(job_id): due_ms(job.due_at)}


def test_the_same_due_time_leaves_a_retry_where_it_is(biz_type: BizType) -> None:
    later = timezone.now() + timedelta(hours=2)
    job_id = in_status(next_run_at=later, attempts=2)
    due = Job.objects.get().due_at

    jobs.edit(job_id, due_at=due, priority=2)

    assert Job.objects.get().next_run_at == later


def test_what_a_person_edits_is_recorded(biz_type: BizType) -> None:
    job_id = in_status()

    jobs.edit(job_id, priority=1, by=ADA, reason="a customer waits")

    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.actor, entry.job_id, entry.reason) == ("edit", "ada", job_id, "a customer waits")
    assert (entry.before, entry.after) == ({"priority": 5}, {"priority": 1})


def test_an_edit_that_changes_nothing_is_none(biz_type: BizType) -> None:
    job_id = in_status()

    job = jobs.edit(job_id, priority=5, by=ADA)

    assert job.version == 1
    assert not AuditEntry.objects.exists()


def test_none_means_as_the_biz_type_says(biz_type: BizType) -> None:
    job_id = in_status(priority=1, max_attempts=3)

    job = jobs.edit(job_id, priority=None, max_attempts=None)

    assert (job.priority, job.max_attempts) == (biz_type.priority, None)


@pytest.mark.parametrize("status", [status for status in Status if status != Status.PENDING])
def test_only_pending_jobs_are_edited(biz_type: BizType, status: Status) -> None:
    job_id = in_status(status)

    with pytest.raises(WrongState, match="cannot edit"):
        jobs.edit(job_id, priority=1)


def test_a_job_that_changed_meanwhile_is_left_alone(biz_type: BizType) -> None:
    job_id = in_status()
    jobs.edit(job_id, priority=1, version=1)

    with pytest.raises(VersionConflict):
        jobs.edit(job_id, priority=2, version=1)

    assert Job.objects.get().priority == 1


def test_there_must_be_such_a_job(db: None) -> None:
    with pytest.raises(JobNotFound):
        jobs.edit(uuid4(), priority=1)


@pytest.mark.parametrize(
    "fields",
    [
        {"priority": 10},
        {"max_attempts": 0},
        {"max_attempts": 2},
        {"due_at": "soon"},
        {"due_at": None},
        {"body": {1, 2}},
        {"expires_at": "2020-01-01T00:00:00Z"},
        {"request": {"url": "https://elsewhere.example/"}},
    ],
)
def test_what_a_job_cannot_have_is_refused(biz_type: BizType, fields: dict[str, Any]) -> None:
    job_id = in_status(attempts=2)

    with pytest.raises(InvalidJob) as refused:
        jobs.edit(job_id, **fields)

    assert refused.value.field == next(iter(fields))
    assert Job.objects.get().version == 1


def test_a_job_may_bring_its_own_end_which_may_be_moved(biz_type: BizType) -> None:
    ends = timezone.now() + timedelta(hours=2)

    made = jobs.create("order.close", delay=60, expires_at=ends, idempotency_key="k")
    again = jobs.create("order.close", delay=60, expires_at=ends.isoformat(), idempotency_key="k")
    with pytest.raises(KeyTaken):
        jobs.create("order.close", delay=60, idempotency_key="k")
    (one_of_many,) = jobs.create_many([jobs.JobRequest("order.close", expires_at=ends)], together=True)
    edited = jobs.edit(made.job_id, expires_at=None)

    assert again.job_id == made.job_id
    assert one_of_many.job.expires_at == Job.objects.get(id=one_of_many.job_id).expires_at == ends
    assert (edited.expires_at, edited.version) == (None, 2)


def test_an_end_before_the_due_time_is_refused(biz_type: BizType) -> None:
    with pytest.raises(InvalidJob, match="later than the time at which the job is due"):
        jobs.create("order.close", delay=60, expires_at=timezone.now())


def test_an_own_request_is_edited_and_recorded_without_its_secrets(biz_type: BizType) -> None:
    given = {"headers": {"Authorization": "Bearer s3cret"}}
    job_id = jobs.create("order.close", delay=600, request=given).job_id

    jobs.edit(job_id, request={"headers": {"Authorization": "(hidden)"}, "timeout_seconds": 2}, by=ADA)

    own, entry = read_own_request(Job.objects.get().request), AuditEntry.objects.get()
    assert (own.timeout_seconds, open_sealed(own.sealed["Authorization"])) == (2.0, "Bearer s3cret")
    assert entry.before == {"request": '{"headers": {"Authorization": "(hidden)"}}'}
    assert entry.after == {"request": '{"timeout_seconds": 2.0, "headers": {"Authorization": "(hidden)"}}'}
    assert jobs.edit(job_id, request=None).request == ""
