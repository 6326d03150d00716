"""Biz types that keep the last, and whose jobs of a flow key run in their order: both hold, and none waits forever."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone

from tasksapp import jobs
from tasksapp.jobs import completion
from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.completer import Completer, Completion
from tasksapp.jobs.running_job import RunningJob
from tasksapp.models import Job
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.stored_jobs import due
from tests.outcomes import tried

pytestmark = pytest.mark.django_db(transaction=True)

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
KEY = "order-42"


def asked(body: Any, *, biz_id: str = KEY, **fields: Any) -> UUID:
    return due("stock.sync", biz_id=biz_id, body=body, **fields)


def run(claimer: Claimer, *ids: UUID) -> list[RunningJob]:
    return claimer.running_jobs(claimer.claim_due(list(ids), now_ms=0))


def end(completer: Completer, job: RunningJob) -> None:
    completer.complete([Completion(job, completion.succeeded(job, tried=tried()))])


def come_again(job_id: UUID) -> None:
    """The wait of one that was found behind another is over."""
    Job.objects.filter(id=job_id).update(next_run_at=timezone.now() - SECOND)


def test_jobs_of_an_ordered_flow_key_wait_for_both(
    make_biz_type: MakeBizType, claimer: Claimer, completer: Completer
) -> None:
    make_biz_type("stock.sync", one_live="last", ordered="dead_lets_go")
    (running,) = run(claimer, asked(1, flow_key="anna"))
    other = asked(2, biz_id="order-43", flow_key="berta")
    waiting = asked(3, flow_key="berta")

    assert run(claimer, waiting) == [], "another one of its flow key comes first"
    (first,) = run(claimer, other)
    end(completer, first)
    assert run(claimer, waiting) == [], "another one of its biz id runs"
    end(completer, running)
    come_again(waiting)
    assert [job.id for job in run(claimer, waiting)] == [waiting]


@pytest.mark.parametrize("was_tried", [True, False])
def test_in_order_none_waits_for_one_that_waits_for_it(
    make_biz_type: MakeBizType, claimer: Claimer, completer: Completer, was_tried: bool
) -> None:
    sync = make_biz_type("stock.sync", one_live="last" if was_tried else "replace", ordered="dead_lets_go")
    first = asked(1, flow_key="anna")
    if was_tried:
        (running,) = run(claimer, first)
        failed = completion.failed(running, tried=tried(), error_class="http.503", now=timezone.now())
        completer.complete([Completion(running, failed)])
    jobs.reschedule(first, delay=3_600)
    sync.one_live = "last"
    sync.save()
    waiting = asked(2, flow_key="anna")
    beside = run(claimer, waiting)

    jobs.run_now(first)
    (running,) = run(claimer, first)
    end(completer, running)
    come_again(waiting)
    (after,) = run(claimer, waiting)

    assert waiting != first
    assert beside == []
    assert (running.id, after.id) == (first, waiting)


def test_in_order_too_what_waited_is_late_from_the_end_of_the_other_on(
    make_biz_type: MakeBizType, claimer: Claimer, completer: Completer
) -> None:
    late = {"max_lateness": 5 * SECOND, "when_late": "skip"}
    make_biz_type("stock.sync", one_live="last", ordered="dead_lets_go", **late)
    (running,) = run(claimer, asked(1, flow_key="anna"))
    waiting = asked(2, flow_key="anna")
    ago = timezone.now() - HOUR
    Job.objects.filter(id=waiting).update(due_at=ago, next_run_at=ago)

    assert run(claimer, waiting) == []
    end(completer, running)

    assert [job.id for job in run(claimer, waiting)] == [waiting]
