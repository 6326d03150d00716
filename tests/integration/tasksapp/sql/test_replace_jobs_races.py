"""Debounce keys when several use them at the same moment."""

from __future__ import annotations

import random
from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from tasksapp import jobs
from tasksapp.jobs.creation import Created, JobRequest, create, create_many
from tasksapp.models import BizType, Job, Status
from tasksapp.sql.claim_jobs import claim_jobs
from tests.integration.tasksapp.at_once import at_once

pytestmark = pytest.mark.django_db(transaction=True)


def test_of_many_requests_at_once_one_makes_the_job_and_the_others_replace_it(biz_type: BizType) -> None:
    def request(number: int) -> Created:
        return create("order.close", body=number, delay=60, debounce_key="k")

    made = at_once(*[partial(request, number) for number in range(8)])

    job = Job.objects.get()
    assert {created.job_id for created in made} == {job.id}
    assert sorted((created.created, created.replaced) for created in made) == [(False, True)] * 7 + [(True, False)]
    assert job.version == 8


def test_a_request_that_meets_a_claim_is_delivered_with_it_or_makes_a_job_of_its_own(biz_type: BizType) -> None:
    for number in range(15):
        first = create("order.close", body="one", debounce_key=f"k{number}").job_id
        claiming = partial(claim_jobs, [first], now=timezone.now(), lease_seconds=60, worker="w", using="default")
        asking = partial(create, "order.close", body="two", debounce_key=f"k{number}")
        answer, made = at_once(claiming, asking)

        assert isinstance(made, Created)
        jobs = {job.id: job for job in Job.objects.all()}
        if made.replaced:
            # Each answer is true: what was claimed has the content that its caller was answered with.
            assert jobs.keys() == {first}
            assert all(claimed.body == '"two"' for claimed in answer.claimed)
            assert jobs[first].body == '"two"'
        else:
            assert jobs.keys() == {first, made.job_id}
            assert (jobs[first].status, jobs[first].body) == (Status.RUNNING, '"one"')
            assert (jobs[made.job_id].status, jobs[made.job_id].body) == (Status.PENDING, '"two"')
        Job.objects.all().delete()


def test_bulks_of_the_same_keys_and_moves_of_their_jobs_do_not_deadlock(biz_type: BizType) -> None:
    keys = [f"k{number}" for number in range(60)]

    def bulk(seed: int) -> int:
        mine = random.Random(seed).sample(keys, 50)
        requests = [JobRequest(biz_type="order.close", delay=60, debounce_key=key) for key in mine]
        return sum(isinstance(outcome, Created) for outcome in create_many(requests))

    def move() -> int:
        ids = list(Job.objects.values_list("id", flat=True))
        return jobs.apply_many(jobs.Verb.RESCHEDULE, ids, delay=timedelta(minutes=5)).left

    for round_ in range(3):
        counts = at_once(*[partial(bulk, round_ * 10 + seed) for seed in range(3)], move)
        assert counts == [50, 50, 50, 0]
    assert Job.objects.count() == len(set(Job.objects.values_list("debounce_key", flat=True)))
