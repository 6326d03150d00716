"""Operations count what becomes of the jobs that they changed."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from tasksapp.models import BizType, Job, Operation, Status, Transition
from tasksapp.sql.expire_jobs import count_dead
from tasksapp.sql.write_outcomes import write_outcomes
from tests.integration.tasksapp.claiming import claim, return_lost
from tests.integration.tasksapp.stored_jobs import due, in_status
from tests.outcomes import finished

pytestmark = pytest.mark.django_db(transaction=True)


def operation() -> Operation:
    return Operation.objects.create(verb="redrive", job_filter={}, state="running", started_by="ada")


def given_to(owner: Operation, *ids: UUID) -> None:
    Job.objects.filter(id__in=ids).update(operation_id=owner.pk)


def counted(owner: Operation) -> tuple[int, int, int]:
    owner.refresh_from_db()
    return owner.succeeded, owner.failed, owner.dead


def test_each_outcome_is_added_to_the_operation_of_its_job(biz_type: BizType) -> None:
    first, second, now = operation(), operation(), timezone.now()
    good, again, died, back, other, nobodys = (due() for _ in range(6))
    given_to(first, good, again, died, back)
    given_to(second, other)
    token = claim(good, again, died, back, other, nobodys).token

    write_outcomes(
        [
            finished(good, token),
            finished(again, token, Transition.RETRY, next_run_at=now + timedelta(seconds=9), last_error="503"),
            finished(died, token, Transition.GIVE_UP, last_error="503"),
            finished(back, token, Transition.GIVE_BACK, counted=0, system_errors=1, tried=None),
            finished(other, token),
            finished(nobodys, token, Transition.GIVE_UP, last_error="503"),
        ],
        now=now,
        worker="w1",
        using="default",
    )

    assert (counted(first), counted(second)) == ((1, 2, 1), (1, 0, 0))


def test_an_outcome_without_its_lease_is_not_counted(biz_type: BizType) -> None:
    owner, job_id, now = operation(), due(), timezone.now()
    given_to(owner, job_id)
    token = claim(job_id).token

    for _ in range(2):
        write_outcomes([finished(job_id, token)], now=now, worker="w1", using="default")

    assert counted(owner) == (1, 0, 0)


def test_a_job_that_dies_with_its_worker_is_counted(make_biz_type: object, biz_type: BizType) -> None:
    BizType.objects.update(guarantee=BizType.Guarantee.AT_MOST_ONCE)
    owner, job_id, now = operation(), due(), timezone.now()
    given_to(owner, job_id)
    claim(job_id, now=now)

    return_lost(now=now + timedelta(hours=1))

    assert Job.objects.get().status == Status.DEAD
    assert counted(owner) == (0, 0, 1)


def test_only_jobs_that_are_dead_count(biz_type: BizType) -> None:
    owner = operation()
    ids = [in_status(status) for status in Status]
    given_to(owner, *ids)

    count_dead(ids, using="default")

    assert counted(owner) == (0, 0, 1)
