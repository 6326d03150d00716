"""Jobs that end as they are claimed, with the jobs that follow, in a transaction of their own."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.jobs import claim_ends
from tasksapp.jobs.creation import create
from tasksapp.models import BizType, Job, Status
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.claiming import claim

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def old(biz_type: BizType, make_biz_type: MakeBizType) -> Job:
    """A due job that is too old, whose death another job follows."""
    make_biz_type("after.death")
    BizType.objects.filter(pk=biz_type.pk).update(on_dead="after.death", max_age=timedelta(minutes=1))
    biz_type_cache.clear()
    return create("order.close", due_at=timezone.now() - timedelta(hours=1)).job


def test_it_is_dead_and_the_other_job_is_there(old: Job) -> None:
    answer = claim(old.id)

    assert (answer.ended, answer.died, answer.locked) == ([old.id], [(old.biz_type_id, "max_age")], [])
    assert Job.objects.get(biz_type__code="after.death").status == Status.PENDING


def test_where_the_other_job_cannot_be_made_neither_is_there_and_what_is_claimed_is_delivered(
    old: Job, make_biz_type: MakeBizType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: object, **options: object) -> None:
        raise OperationalError("canceling statement due to lock timeout")

    make_biz_type("order.ship")
    young = create("order.ship", due_at=timezone.now() - timedelta(seconds=1)).job_id
    monkeypatch.setattr(claim_ends, "make_follow_ups", fails)

    answer = claim(old.id, young)

    assert ([job.id for job in answer.claimed], answer.locked, answer.ended) == ([young], [old.id], [])
    assert Job.objects.get(id=old.id).status == Status.PENDING
