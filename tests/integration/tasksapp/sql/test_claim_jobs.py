"""The statements of the hand-over: claim, outcomes, renewal, and the return of lost leases."""

from __future__ import annotations

from datetime import datetime, timedelta
from unittest.mock import Mock
from uuid import uuid4

import pytest
from django.db import transaction
from django.utils import timezone

from tasksapp.models import UNTIL_RESUMED, BizType, Job, Status, Transition
from tasksapp.sql.biz_type_revision import read_biz_types
from tasksapp.sql.claim_answer import ClaimAnswer
from tasksapp.sql.write_outcomes import write_outcomes
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.claiming import claim
from tests.integration.tasksapp.conflicting import conflict
from tests.integration.tasksapp.stored_jobs import due
from tests.outcomes import finished

pytestmark = pytest.mark.django_db(transaction=True)


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


@pytest.mark.parametrize("target", [BizType.Target.HTTP, BizType.Target.CELERY])
def test_what_a_claim_took_is_in_the_order_of_its_timers(target: str, make_biz_type: MakeBizType) -> None:
    make_biz_type("ordered", target=target, task_name="shop.pay" if target == BizType.Target.CELERY else "")
    ids = [due("ordered") for _ in range(20)]
    urgent_first = [*ids[10:], *reversed(ids[:10])]

    answer = claim(*urgent_first, forward_seconds=60)

    assert [job.id for job in [*answer.claimed, *answer.forwarded]] == urgent_first


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
    revision = read_biz_types({biz_type.id}, using="default")[biz_type.id].revision
    assert (claimed.biz_type_id, claimed.biz_type_revision) == (biz_type.id, revision)
    assert (claimed.due_at, claimed.next_run_at) == (job.due_at, job.next_run_at)


@pytest.mark.postgresql_only
def test_a_row_that_another_transaction_holds_is_answered_as_locked(biz_type: BizType) -> None:
    import threading

    job_id, other = due(), due()
    locked, done = threading.Event(), threading.Event()

    def hold() -> None:
        from django.db import connection

        with transaction.atomic():
            list(Job.objects.select_for_update().filter(id=job_id))
            locked.set()
            done.wait(60)
        connection.close()

    holder = threading.Thread(target=hold)
    holder.start()
    assert locked.wait(60)
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
    assert job.error_class == ("" if status == Status.RUNNING else "too_late")


def test_lateness_is_judged_before_the_first_attempt_only(make_biz_type: MakeBizType) -> None:
    make_biz_type("late", max_lateness=timedelta(seconds=5), when_late="skip")
    job_id = due("late")
    answer = claim(job_id)
    now = timezone.now()
    write_outcomes(
        [finished(job_id, answer.token, Transition.RETRY, next_run_at=now)], now=now, worker="w1", using="default"
    )

    assert len(claim(job_id, now=now + timedelta(seconds=60)).claimed) == 1


def test_a_job_whose_age_is_used_up_is_dead(make_biz_type: MakeBizType) -> None:
    make_biz_type("old", max_age=timedelta(minutes=5))
    job_id = due("old", due_at=timezone.now() - timedelta(minutes=6))

    assert claim(job_id).ended == [job_id]
    job = Job.objects.get()
    assert (job.status, job.error_class) == (Status.DEAD, "max_age")


def test_after_a_redrive_the_age_counts_again_from_zero(make_biz_type: MakeBizType) -> None:
    from tasksapp.jobs.verbs import redrive

    make_biz_type("old", max_age=timedelta(minutes=5))
    job_id = due("old", due_at=timezone.now() - timedelta(minutes=6))
    claim(job_id)

    redrive(job_id)

    assert len(claim(job_id).claimed) == 1


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
    assert after_forwarding.error_class == "not_taken"
    assert (after_forwarding.status, after_forwarding.version, after_forwarding.attempts) == (Status.PENDING, 1, 0)
    assert [job.id for job in taken.claimed] == [job_id]
    assert Job.objects.get().status == Status.RUNNING


def test_jobs_of_a_celery_task_are_forwarded_beside_one_that_cannot_be_ended(
    make_biz_type: MakeBizType, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_biz_type("task", target="celery", task_name="shop.close")
    make_biz_type("aged", max_age=timedelta(0), on_dead="task")
    forwarded, ended = due("task"), due("aged")
    monkeypatch.setattr("tasksapp.models.conflicts.FIRST_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr("tasksapp.jobs.claim_ends.expire_jobs", Mock(side_effect=conflict()))

    answer = claim(forwarded, ended, now=timezone.now() + timedelta(seconds=1), forward_seconds=300)

    assert [job.id for job in answer.forwarded] == [forwarded]
    assert answer.locked == [ended]
