"""Several processes act on the same jobs at the same moment: one wins, the others are refused, and none deadlocks."""

from __future__ import annotations

import random
from datetime import timedelta
from functools import partial
from uuid import UUID

import pytest
from django.utils import timezone

from tasksapp import jobs
from tasksapp.errors import WrongState
from tasksapp.jobs.creation import JobRequest, create, create_many
from tasksapp.models import BizType, Job, Status
from tasksapp.models.job_id import new_job_ids
from tasksapp.sql.leases import return_lost_leases
from tasksapp.sql.write_outcomes import write_outcomes
from tests.integration.tasksapp.at_once import at_once
from tests.integration.tasksapp.claiming import claim
from tests.job_rows import job_row
from tests.outcomes import finished

pytestmark = pytest.mark.django_db(transaction=True)


SECOND = timedelta(seconds=1)


def due_jobs(biz_type: BizType, count: int) -> list[UUID]:
    ids = new_job_ids(count)
    Job.objects.bulk_create([job_row(biz_type, id=job_id, due_in=-SECOND) for job_id in ids])
    return ids


def test_a_job_is_claimed_by_one_worker(biz_type: BizType) -> None:
    ids = due_jobs(biz_type, 300)

    def work(name: str) -> list[UUID]:
        mine = random.Random(name).sample(ids, len(ids))
        return [
            found.id for start in range(0, 300, 50) for found in claim(*mine[start : start + 50], worker=name).claimed
        ]

    claimed = at_once(*[partial(work, f"w{number}") for number in range(4)])

    taken = [job_id for worker in claimed for job_id in worker]
    assert len(taken) == len(set(taken))
    # A batch passes over rows that others hold at the moment; they are claimed when they are looked at again.
    left = [job_id for job_id in ids if job_id not in set(taken)]
    assert sorted([*taken, *(job.id for job in claim(*left).claimed)]) == ids
    for number, worker in enumerate(claimed):
        assert set(Job.objects.filter(worker=f"w{number}").values_list("id", flat=True)) == set(worker)


def test_a_job_is_cancelled_or_claimed_never_both(biz_type: BizType) -> None:
    ids = due_jobs(biz_type, 60)
    cancelled: list[UUID] = []
    refusals: set[str] = set()

    def cancel_all() -> None:
        for job_id in ids:
            try:
                jobs.cancel(job_id)
                cancelled.append(job_id)
            except WrongState as refused:
                refusals.add(refused.status)

    claimed: list[UUID] = []

    def claim_all() -> None:
        for job_id in reversed(ids):
            claimed.extend(job.id for job in claim(job_id).claimed)

    at_once(cancel_all, claim_all)

    assert not set(cancelled) & set(claimed)
    assert refusals <= {Status.RUNNING}
    assert set(Job.objects.filter(status=Status.CANCELLED).values_list("id", flat=True)) == set(cancelled)
    assert set(Job.objects.filter(status=Status.RUNNING).values_list("id", flat=True)) == set(claimed)


def test_bulk_verbs_over_the_same_jobs_do_not_deadlock(biz_type: BizType) -> None:
    ids = due_jobs(biz_type, 600)

    outcomes = at_once(
        lambda: jobs.apply_many(jobs.Verb.RESCHEDULE, ids, delay=timedelta(minutes=1)).changed,
        lambda: jobs.apply_many(jobs.Verb.RUN_NOW, ids[::-1]).changed,
        lambda: (
            jobs.apply_many(jobs.Verb.RESCHEDULE, random.Random(1).sample(ids, 600), delay=timedelta(minutes=2)).changed
        ),
        lambda: jobs.apply_many(jobs.Verb.RUN_NOW, ids[300:] + ids[:300]).changed,
    )

    assert outcomes == [600] * 4
    assert set(Job.objects.values_list("version", flat=True)) == {5}


def test_an_outcome_and_the_return_of_its_lease_do_not_both_count(biz_type: BizType) -> None:
    ids = due_jobs(biz_type, 200)
    answer = claim(*ids)
    assert answer.claimed
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    written: set[UUID] = set()
    returned: set[UUID] = set()

    def finish() -> None:
        for start in range(0, 200, 20):
            outcomes = [finished(job_id, answer.token, tried=None) for job_id in ids[start : start + 20]]
            written.update(write_outcomes(outcomes, now=timezone.now(), worker="w", using="default"))

    def return_lost() -> None:
        for _ in range(10):
            lost = return_lost_leases(now=timezone.now(), limit=20, max_system_errors=9, using="default")
            returned.update(job.id for job in lost)

    at_once(finish, return_lost)

    assert not written & returned
    assert written | returned <= set(ids)
    assert set(Job.objects.filter(status=Status.SUCCEEDED).values_list("id", flat=True)) == written
    assert set(Job.objects.filter(status=Status.PENDING).values_list("id", flat=True)) == returned


def test_the_same_key_makes_one_job_however_many_ask_at_once(biz_type: BizType) -> None:
    made = at_once(*[lambda: create("order.close", body={"order": 42}, idempotency_key="k")] * 5)

    assert len({created.job_id for created in made}) == 1
    assert [created.created for created in made].count(True) == 1
    assert Job.objects.count() == 1


def test_bulks_with_the_same_keys_in_any_order_do_not_deadlock(biz_type: BizType) -> None:
    requests = [JobRequest(biz_type="order.close", idempotency_key=f"k{number}") for number in range(120)]

    at_once(
        lambda: create_many(requests),
        lambda: create_many(requests[::-1]),
        lambda: create_many(random.Random(2).sample(requests, 120)),
    )

    assert Job.objects.count() == 120
