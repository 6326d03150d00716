"""Verbs over many jobs: each is changed or counted, and no transaction is endless."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from delayhub.engine import TimerLane, due_ms
from tasksapp import jobs
from tasksapp.jobs import BulkOutcome
from tasksapp.models import BizType, Job, Status
from tests.integration.tasksapp.stored_jobs import in_status
from tests.integration.tasksapp.stored_timers import timers_ms
from tests.job_rows import job_row

pytestmark = pytest.mark.django_db(transaction=True)


def test_many_are_changed_at_once_and_the_others_counted(biz_type: BizType, lane: TimerLane) -> None:
    pending = [in_status() for _ in range(3)]
    running = in_status(Status.RUNNING)
    dead = [in_status(Status.DEAD) for _ in range(2)]

    assert jobs.apply_many(jobs.Verb.CANCEL, [*pending[:1], running, *pending[:1]]) == BulkOutcome(1, 1)
    assert jobs.apply_many(jobs.Verb.RESCHEDULE, pending, delay=timedelta(minutes=5)) == BulkOutcome(2, 1)
    assert jobs.apply_many(jobs.Verb.RUN_NOW, [pending[1], uuid4()]) == BulkOutcome(1, 1)
    assert jobs.apply_many(jobs.Verb.REDRIVE, [dead[0], running]) == BulkOutcome(1, 1)
    assert jobs.apply_many(jobs.Verb.DROP, dead) == BulkOutcome(1, 1)

    now = timezone.now()
    assert timers_ms(lane).get(str(pending[0])) is None
    assert timers_ms(lane).get(str(pending[1])) is not None
    assert (timers_ms(lane).get(str(pending[2])) or 0) > due_ms(now)
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
