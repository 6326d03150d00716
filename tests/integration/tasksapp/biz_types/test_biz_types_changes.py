"""What becomes of waiting jobs when their biz type is edited, paused, disabled or deleted: docs/jobs/retries.md."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from datetime import timedelta
from unittest.mock import patch
from uuid import UUID

import pytest
from django.core import serializers
from django.core.management import call_command
from django.db import connection
from django.db.models import ProtectedError
from django.utils import timezone

from delayhub.clock import SystemClock
from delayhub.engine import TimerLane
from tasksapp import jobs
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.biz_types.target import target_of
from tasksapp.errors import InvalidJob
from tasksapp.jobs.creation import create
from tasksapp.jobs.retry_policy import RetryPolicy
from tasksapp.maintenance.loader import Loader
from tasksapp.maintenance.purger import Purger
from tasksapp.models import UNTIL_RESUMED, BizType, Job, Status
from tests.integration.tasksapp.claiming import claim

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_edit_counts_from_the_next_attempt_on(biz_type: BizType) -> None:
    job_id = create("order.close").job_id
    before = biz_type_cache.find({"order.close"}, using="default")["order.close"]

    biz_type.url, biz_type.max_attempts = "https://shop.example/new", 2
    biz_type.save()
    (job,) = claim(job_id).claimed
    after = biz_type_cache.as_of(job.biz_type_id, revision=job.biz_type_revision, using="default")

    assert before.url == "https://shop.example/hooks/close"
    assert after.url == "https://shop.example/new"
    assert job.max_attempts == RetryPolicy(biz_type=after, own_attempts=job.max_attempts).max_attempts == 2


def by_update() -> None:
    BizType.objects.update(url="https://shop.example/new")


def by_bulk_update() -> None:
    changed = BizType.objects.get()
    changed.url = "https://shop.example/new"
    BizType.objects.bulk_update([changed], ["url"])


def by_sql() -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE delayhub_biz_type SET url = 'https://shop.example/new'")


def by_loaddata() -> None:
    (row,) = json.loads(serializers.serialize("json", BizType.objects.all()))
    row["fields"]["url"] = "https://shop.example/new"
    # The command runs in a process of its own, so a worker hears nothing of the rows that it saves.
    with tempfile.NamedTemporaryFile("w", suffix=".json") as fixture, patch.object(biz_type_cache, "clear"):
        json.dump([row], fixture)
        fixture.flush()
        call_command("loaddata", fixture.name, verbosity=0)


@pytest.mark.parametrize("change", [by_update, by_bulk_update, by_sql, by_loaddata])
def test_a_change_that_no_signal_reports_counts_from_the_next_attempt_on(
    biz_type: BizType, change: Callable[[], None]
) -> None:
    first, second = create("order.close").job_id, create("order.close").job_id

    def target(job_id: UUID) -> str:
        (job,) = claim(job_id).claimed
        found = biz_type_cache.as_of(job.biz_type_id, revision=job.biz_type_revision, using="default")
        return target_of(found, now=timezone.now()).url

    before = target(first)
    change()

    assert before == "https://shop.example/hooks/close"
    assert target(second) == "https://shop.example/new"


def test_jobs_of_a_paused_biz_type_wait_and_new_ones_are_taken(biz_type: BizType) -> None:
    biz_type.paused_until = UNTIL_RESUMED
    biz_type.save()

    job_id = create("order.close").job_id
    jobs.run_now(job_id)
    assert claim(job_id).shut == [job_id]

    biz_type.paused_until = None
    biz_type.save()
    assert len(claim(job_id).claimed) == 1


def test_a_pause_ends_by_itself(biz_type: BizType) -> None:
    biz_type.paused_until = timezone.now() - timedelta(seconds=1)
    biz_type.save()

    assert len(claim(create("order.close").job_id).claimed) == 1


def test_jobs_of_a_disabled_biz_type_wait_and_new_ones_are_refused(biz_type: BizType) -> None:
    job_id = create("order.close").job_id
    biz_type.enabled = False
    biz_type.save()

    assert claim(job_id).shut == [job_id]
    with pytest.raises(InvalidJob, match="disabled"):
        create("order.close")
    assert jobs.cancel(job_id).status == Status.CANCELLED


def test_a_biz_type_with_jobs_cannot_be_deleted(biz_type: BizType) -> None:
    create("order.close")
    with pytest.raises(ProtectedError):
        biz_type.delete()

    Job.objects.update(status=Status.SUCCEEDED, finished_at=timezone.now() - timedelta(days=60))
    list(Purger(using="default", clock=SystemClock()).batches())
    biz_type.delete()
    with pytest.raises(InvalidJob, match="there is no biz type"):
        create("order.close")


def test_jobs_of_a_biz_type_that_moves_to_another_lane_fire_once(biz_type: BizType, lane: TimerLane) -> None:
    job_id = create("order.close").job_id
    biz_type.lane = "delayhub.other"
    biz_type.save()
    Loader(using="default").run_once()
    other = TimerLane(lane.client, "delayhub.other")

    # Both lanes have a timer for a while; the row goes to the first claim.
    assert lane.claim().batches[0].ids == other.claim().batches[0].ids == [str(job_id)]
    assert len(claim(job_id).claimed) == 1
    assert claim(job_id).gone == [job_id]


def test_a_biz_type_that_gets_another_code_keeps_its_jobs(biz_type: BizType) -> None:
    job_id = create("order.close", biz_id="order-42").job_id
    biz_type.code = "order.expire"
    biz_type.save()

    assert jobs.find_live("order.expire", "order-42").id == job_id
    assert len(claim(job_id).claimed) == 1
