"""One biz type cannot starve another, however many of its jobs are overdue and whatever rate it may have."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from delayhub.engine import TimerLane
from tasksapp.jobs.creation import JobRequest, create_many
from tasksapp.maintenance.loader import Loader
from tasksapp.models import Attempt, Job
from tests.fixture_types import Fire, MakeBizType
from tests.integration.tasksapp.receiver import Receiver

pytestmark = pytest.mark.django_db(transaction=True)

HUGE, SMALL = 3_000, 30


def crowd(make_biz_type: MakeBizType, *, huge: dict[str, Any] | None = None, **fields: Any) -> None:
    """A huge backlog that has been due for long, and a few jobs of another biz type that were due just now."""
    make_biz_type("huge", **(huge or {}), **fields)
    make_biz_type("small", **fields)
    now = timezone.now()
    create_many([JobRequest(biz_type="huge", due_at=now - timedelta(minutes=5)) for _ in range(HUGE)])
    create_many([JobRequest(biz_type="small", due_at=now - timedelta(seconds=1)) for _ in range(SMALL)])
    Loader(using="default").run_once()


def taken(lane: TimerLane) -> Counter[str]:
    """What one claim takes of each."""
    return Counter({batch.queue: len(batch.ids) for batch in lane.claim().batches})


def test_a_few_jobs_do_not_wait_behind_a_backlog(make_biz_type: MakeBizType, lane: TimerLane) -> None:
    crowd(make_biz_type)

    assert [taken(lane), taken(lane)] == [{"small": SMALL, "huge": 50}, {"huge": 100}]


def test_a_high_rate_is_no_right_to_all_of_a_claim(make_biz_type: MakeBizType, lane: TimerLane) -> None:
    crowd(make_biz_type, huge={"delivery_rate": 100_000.0, "delivery_burst": 10_000})

    assert sum((taken(lane), taken(lane)), Counter())["small"] == SMALL


def test_not_even_the_highest_weight_leaves_others_nothing(make_biz_type: MakeBizType, lane: TimerLane) -> None:
    crowd(make_biz_type, huge={"weight": 9})

    claims = [taken(lane)["small"] for _ in range(3)]

    # a tenth of each claim
    assert claims == [10, 10, 10]


def test_the_receivers_see_it_too(make_biz_type: MakeBizType, receiver: Receiver, fire: Fire) -> None:
    crowd(make_biz_type, url=receiver.url())

    fire()
    fire()

    assert Attempt.objects.filter(job__biz_type__code="small").count() == SMALL
    assert Job.objects.filter(biz_type__code="huge", status="succeeded").count() == 50 + 100
