"""The statements of the hand-over: claim, outcomes, renewal, and the return of lost leases."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import transaction
from django.utils import timezone

from tasksapp.jobs.creation import create
from tasksapp.models import UNTIL_RESUMED, Attempt, BizType, Job, Status
from tasksapp.sql.claim_jobs import ClaimAnswer
from tasksapp.sql.renew_leases import renew_leases, return_lost_leases
from tasksapp.sql.write_outcomes import write_outcomes
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.claiming import claim
from tests.outcomes import finished

pytestmark = pytest.mark.django_db(transaction=True)


def due(code: str = "order.close", **fields: Any) -> UUID:
    return create(code, **fields).job_id


def return_lost(*, now: datetime) -> list[Job]:
    return return_lost_leases(now=now, limit=100, max_system_errors=3, using="default")


def test_a_claim_answers_for_every_id(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    make_biz_type("paused", paused_until=UNTIL_RESUMED)
    make_biz_type("disabled")
    ours, early = due(), due(delay=60)
    running, paused, disabled, nobody = due(), due("paused"), due("disabled"), uuid4()
    BizType.objects.filter(code="disabled").update(enabled=False)
    claim(running)

    answer = claim(ours, early, running, paused, disabled, nobody)

    assert [job.id for job in answer.claimed] == [ours]
    assert answer.not_due == [(early, Job.objects.get(id=early).next_run_at)]
    assert set(answer.shut) == {paused, disabled}
    assert set(answer.gone) == {running, nobody}
    assert answer.locked == []


def test_a_claimed_row_is_leased_for_the_timeout_and_more(biz_type: BizType) -> None:
    job_id, now = due(biz_id="o-1", body={"a": 1}, max_attempts=3, priority=2), timezone.now()

    answer = claim(job_id, now=now, worker="w1")

    job = Job.objects.get()
    assert (job.status, job.worker, job.lease_token) == (Status.RUNNING, "w1", answer.token)
    assert job.lease_until == now + timedelta(seconds=60 + biz_type.timeout_seconds)
    assert job.version == 2
    (claimed,) = answer.claimed
    assert claimed.lease_until == job.lease_until
    assert (claimed.body, claimed.biz_id, claimed.max_attempts, claimed.priority) == ('{"a":1}', "o-1", 3, 2)
    assert (claimed.biz_type_id, claimed.biz_type_updated_at) == (biz_type.id, biz_type.updated_at)
    assert (claimed.due_at, claimed.next_run_at) == (job.due_at, job.next_run_at)


@pytest.mark.postgresql_only
def test_a_row_that_somebody_holds_is_answered_as_locked(biz_type: BizType) -> None:
    import threading

    job_id, other = due(), due()
    locked, done = threading.Event(), threading.Event()

    def hold() -> None:
        from django.db import connection

        with transaction.atomic():
            list(Job.objects.select_for_update().filter(id=job_id))
            locked.set()
            done.wait(20)
        connection.close()

    holder = threading.Thread(target=hold)
    holder.start()
    assert locked.wait(20)
    answer = claim(job_id, other)
    done.set()
    holder.join()

    assert answer.locked == [job_id]
    assert [job.id for job in answer.claimed] == [other]


def test_a_job_that_may_be_sent_once_has_its_attempt_counted_in_the_claim(make_biz_type: MakeBizType) -> None:
    make_biz_type("once", guarantee="at_most_once")
    job_id = due("once")

    answer = claim(job_id)

    assert answer.claimed[0].attempts == Job.objects.get().attempts == 1


@pytest.mark.parametrize(
    ("when_late", "status"),
    [
        # the default is to fire all the same
        ("fire", Status.RUNNING),
        ("skip", Status.SKIPPED),
        ("dead", Status.DEAD),
    ],
)
def test_a_job_that_is_too_late_goes_as_its_biz_type_says(
    make_biz_type: MakeBizType, when_late: str, status: Status
) -> None:
    make_biz_type("late", max_lateness=timedelta(seconds=5), when_late=when_late)
    job_id = due("late", due_at=timezone.now() - timedelta(seconds=6))

    answer = claim(job_id)

    job = Job.objects.get()
    assert job.status == status
    assert (answer.ended == [job_id]) == (status != Status.RUNNING)
    assert bool(job.finished_at) == bool(job.last_error) == (status != Status.RUNNING)


def test_lateness_is_judged_before_the_first_attempt_only(make_biz_type: MakeBizType) -> None:
    make_biz_type("late", max_lateness=timedelta(seconds=5), when_late="skip")
    job_id = due("late")
    answer = claim(job_id)
    now = timezone.now()
    write_outcomes(
        [finished(job_id, answer.token, Status.PENDING, next_run_at=now)], now=now, worker="w1", using="default"
    )

    assert len(claim(job_id, now=now + timedelta(seconds=60)).claimed) == 1


def test_a_job_whose_age_is_used_up_is_dead(make_biz_type: MakeBizType) -> None:
    make_biz_type("old", max_age=timedelta(minutes=5))
    job_id = due("old", due_at=timezone.now() - timedelta(minutes=6))

    assert claim(job_id).ended == [job_id]
    assert Job.objects.get().status == Status.DEAD


def test_after_a_redrive_the_age_counts_anew(make_biz_type: MakeBizType) -> None:
    from tasksapp.jobs.verbs import redrive

    make_biz_type("old", max_age=timedelta(minutes=5))
    job_id = due("old", due_at=timezone.now() - timedelta(minutes=6))
    claim(job_id)

    redrive(job_id)

    assert len(claim(job_id).claimed) == 1


def test_an_outcome_ends_the_job_and_logs_the_attempt(biz_type: BizType) -> None:
    job_id, now = due(), timezone.now()
    answer = claim(job_id)

    written = write_outcomes([finished(job_id, answer.token)], now=now, worker="w1", using="default")

    assert written == {job_id}
    job, attempt = Job.objects.get(), Attempt.objects.get()
    assert (job.status, job.attempts, job.finished_at, job.lease_until) == (Status.SUCCEEDED, 1, now, None)
    assert (attempt.job_id, attempt.number, attempt.status_code, attempt.worker) == (job_id, 1, 204, "w1")
    assert (attempt.response_headers, attempt.response_body) == ({"Server": "nginx"}, "ö\n")


def test_a_retry_waits_and_a_fault_of_ours_uses_no_attempt(biz_type: BizType) -> None:
    retried, ours, now = due(), due(), timezone.now()
    answer = claim(retried, ours)
    later = now + timedelta(seconds=10)

    write_outcomes(
        [
            finished(retried, answer.token, Status.PENDING, next_run_at=later, last_error="503"),
            finished(ours, answer.token, Status.PENDING, counted=0, system_errors=1, tried=None),
        ],
        now=now,
        worker="w1",
        using="default",
    )

    job = Job.objects.get(id=retried)
    assert (job.status, job.attempts, job.next_run_at, job.last_error) == (Status.PENDING, 1, later, "503")
    job = Job.objects.get(id=ours)
    assert (job.status, job.attempts, job.system_errors, job.finished_at) == (Status.PENDING, 0, 1, None)
    assert Attempt.objects.count() == 1


def test_an_outcome_that_comes_after_the_lease_was_lost_changes_nothing(biz_type: BizType) -> None:
    job_id, now = due(), timezone.now()
    answer = claim(job_id, now=now)
    return_lost(now=now + timedelta(hours=1))

    written = write_outcomes([finished(job_id, answer.token)], now=now, worker="w1", using="default")

    assert written == set()
    assert Job.objects.get().status == Status.PENDING
    assert not Attempt.objects.exists()


def test_a_lease_is_renewed_by_its_holder_alone(biz_type: BizType) -> None:
    job_id, now = due(), timezone.now()
    answer = claim(job_id, now=now)
    until = now + timedelta(hours=2)

    assert renew_leases([(job_id, answer.token + 1, until)], using="default") == set()
    assert renew_leases([(job_id, answer.token, until)], using="default") == {job_id}

    assert Job.objects.get().lease_until == until
    assert return_lost(now=now + timedelta(hours=1)) == []


def test_a_lost_job_comes_back_without_using_an_attempt_until_it_was_lost_too_often(biz_type: BizType) -> None:
    job_id, now = due(), timezone.now()
    fates = []
    for _ in range(3):
        claim(job_id, now=now)
        now += timedelta(hours=1)
        (lost,) = return_lost(now=now)
        now += timedelta(hours=1)
        fates.append(
            (lost.status, Job.objects.get().status, Job.objects.get().attempts, Job.objects.get().system_errors)
        )

    assert fates == [
        (Status.PENDING, Status.PENDING, 0, 1),
        (Status.PENDING, Status.PENDING, 0, 2),
        (Status.DEAD, Status.DEAD, 0, 3),
    ]


def test_a_lost_job_that_may_be_sent_once_is_dead(make_biz_type: MakeBizType) -> None:
    make_biz_type("once", guarantee="at_most_once")
    job_id, now = due("once"), timezone.now()
    claim(job_id)

    return_lost(now=now + timedelta(hours=1))

    assert Job.objects.get().status == Status.DEAD
    assert "unknown" in Job.objects.get().last_error


def test_a_job_of_a_celery_task_is_forwarded_once_in_a_while_and_claimed_by_its_task(
    make_biz_type: MakeBizType,
) -> None:
    make_biz_type("task", target="celery", task_name="shop.close", guarantee="at_most_once")
    job_id, now = due("task"), timezone.now()

    def forward(now: datetime) -> ClaimAnswer:
        return claim(job_id, now=now, worker="w1", forward_seconds=300)

    first, second, third = forward(now), forward(now + timedelta(seconds=299)), forward(now + timedelta(seconds=301))
    after_forwarding = Job.objects.get()
    taken = claim(job_id, now=now + timedelta(seconds=302))

    assert [job.id for job in first.forwarded] == [job.id for job in third.forwarded] == [job_id]
    assert second.gone == [job_id]
    assert (after_forwarding.status, after_forwarding.version, after_forwarding.attempts) == (Status.PENDING, 1, 0)
    assert [job.id for job in taken.claimed] == [job_id]
    assert Job.objects.get().status == Status.RUNNING
