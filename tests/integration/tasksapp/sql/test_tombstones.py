"""Tombstones are pruned with the jobs that they still hold, and stay while such a job runs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from tasksapp import jobs
from tasksapp.models import BizType, Job, Status, Tombstone
from tasksapp.sql.tombstones import prune_tombstones, resolved_ids
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


def prune(days: int, *, limit: int = 9) -> int:
    return prune_tombstones(before=timezone.now() + days * DAY, using="default", limit=limit)


def test_they_are_pruned_after_their_life_span_a_batch_at_a_time(biz_type: BizType) -> None:
    for number in range(3):
        jobs.resolve("order.close", str(number))

    assert [prune(6), prune(8, limit=2), prune(8, limit=2), prune(8, limit=2)] == [0, 2, 1, 0]


def test_a_job_that_is_due_after_that_does_not_fire_and_a_younger_one_does(biz_type: BizType) -> None:
    jobs.resolve("order.close", "42")
    slipped = store_job(biz_type, biz_id="42", due_in=60 * DAY)  # committed after the resolve
    younger = store_job(biz_type, biz_id="42", created_at=timezone.now() + 8 * DAY)

    assert prune(9) == 1

    statuses = dict(Job.objects.values_list("id", "status"))
    assert statuses == {slipped.id: Status.CANCELLED, younger.id: Status.PENDING}


def test_one_stays_while_a_job_of_it_runs(biz_type: BizType) -> None:
    running = store_job(biz_type, Status.RUNNING, biz_id="42")
    jobs.resolve("order.close", "42")

    assert prune(9) == 0
    Job.objects.filter(id=running.id).update(status=Status.SUCCEEDED)
    assert prune(9) == 1


def test_a_second_resolve_lets_it_last_longer_and_never_shorter(biz_type: BizType) -> None:
    jobs.resolve("order.close", "42")
    BizType.objects.update(max_age=DAY)
    until = Tombstone.objects.get().until
    Tombstone.objects.update(until=until - DAY)

    jobs.resolve("order.close", "42")
    later = Tombstone.objects.get().until
    Tombstone.objects.update(until=later + DAY)
    jobs.resolve("order.close", "42")

    assert later >= until
    assert Tombstone.objects.get().until == later + DAY


def test_a_second_resolve_holds_what_followed_since_the_first_also_where_that_holds_for_longer(
    biz_type: BizType,
) -> None:
    jobs.resolve("order.close", "42")
    Tombstone.objects.update(until=timezone.now() + 60 * DAY)
    followed = store_job(biz_type, Status.RUNNING, biz_id="42", created_by="follow-up")
    assert resolved_ids([followed], using="default") == set()

    jobs.resolve("order.close", "42")

    assert resolved_ids([followed], using="default") == {followed.id}
