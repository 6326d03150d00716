"""What happened to a job makes another one, in the outcome's own transaction, wherever jobs end.

Jobs that are too old or too late are ended by ``expire_jobs``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from delayhub.clock import SystemClock
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.biz_types.definition import define
from tasksapp.errors import InvalidBizType
from tasksapp.jobs import completion, signals
from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.completer import Completer, Completion
from tasksapp.jobs.follow_ups import EndedJob, make_follow_ups
from tasksapp.models import BizType, Job, Status, Transition
from tasksapp.models.api_key import MOVING
from tasksapp.timers.lanes import client
from tasksapp.timers.redis_clock import RedisClock
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.claiming import return_lost
from tests.integration.tasksapp.stored_jobs import due
from tests.outcomes import tried

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def told(make_biz_type: MakeBizType) -> BizType:
    """The biz type whose jobs are told what happened."""
    make_biz_type("paid.report")
    return make_biz_type("failure.report")


@pytest.fixture
def closing(make_biz_type: MakeBizType) -> BizType:
    """A biz type with both follow-ups."""
    return make_biz_type("order.close", on_success="paid.report", on_dead="failure.report", max_attempts=1)


def claimer() -> Claimer:
    return Claimer(clock=RedisClock(client), worker="w", using="default")


def complete(job_id: Any, end: Callable[..., Any], **fields: Any) -> None:
    """Runs the job, and completes it so."""
    held = claimer()
    (job,) = held.running_jobs(held.claim_due([job_id], now_ms=0))
    finished = end(job, tried=tried(), **fields)
    Completer(clock=SystemClock(), worker="w", using="default").complete([Completion(job, finished)])


def follow_up() -> tuple[str, str, dict[str, Any], Any]:
    """The one job that follows: its biz type, its biz id, what it follows and the body of that."""
    job = Job.objects.select_related("biz_type").exclude(biz_type__code="order.close").get()
    body = json.loads(job.body)
    return job.biz_type.code, job.biz_id, body["follows"], body["body"]


def test_what_runs_while_its_tenant_moves_is_followed_all_the_same(closing: BizType) -> None:
    held = claimer()
    (job,) = held.running_jobs(held.claim_due([due(biz_id="42")], now_ms=0))
    BizType.objects.update(enabled=False, moved_to=MOVING)
    biz_type_cache.clear()

    completed = Completion(job, completion.succeeded(job, tried=tried()))
    Completer(clock=SystemClock(), worker="w", using="default").complete([completed])

    assert follow_up()[:2] == ("paid.report", "42")


def test_a_success_makes_a_job_from_what_happened(closing: BizType) -> None:
    job_id = due(biz_id="42", body={"total": 5})

    complete(job_id, completion.succeeded)

    code, biz_id, follows, body = follow_up()
    assert (code, biz_id, body) == ("paid.report", "42", {"total": 5})
    assert (follows["id"], follows["status"], follows["attempts"], follows["depth"]) == (str(job_id), "succeeded", 1, 1)


def test_it_has_the_flow_key_of_the_job_that_it_follows(closing: BizType) -> None:
    complete(due(biz_id="42", flow_key="customer-7"), completion.succeeded)

    assert Job.objects.get(biz_type__code="paid.report").flow_key == "customer-7"


class ReadsElsewhere:
    """A project's router: what is read comes from a replica, which may be behind."""

    def db_for_read(self, model: type, **hints: Any) -> str:
        return "replica"


def test_the_body_is_read_where_the_outcome_is_written(closing: BizType, settings: Any) -> None:
    job_id = due(biz_id="42", body={"total": 5})
    # What Celery's main process knows of a job whose child it killed.
    ended = EndedJob.of(Job.objects.select_related("biz_type").get(id=job_id))._replace(body="", status="succeeded")
    settings.DATABASE_ROUTERS = [ReadsElsewhere()]

    with transaction.atomic():
        make_follow_ups([ended], using="default")

    settings.DATABASE_ROUTERS = []
    assert follow_up()[3] == {"total": 5}


def test_a_death_makes_one_and_a_retry_makes_none(closing: BizType) -> None:
    BizType.objects.filter(code="order.close").update(max_attempts=2)
    job_id = due(biz_id="42")

    failed = {"error_class": "http.503", "now": timezone.now()}
    complete(job_id, completion.failed, **failed)
    assert Job.objects.get().status == Status.PENDING
    Job.objects.update(next_run_at=timezone.now() - timedelta(seconds=1))
    complete(job_id, completion.failed, **failed)

    code, _, follows, _ = follow_up()
    assert (code, follows["status"], follows["error_class"]) == ("failure.report", "dead", "http.503")


def test_an_outcome_that_does_not_count_makes_none(closing: BizType) -> None:
    job_id = due()
    held = claimer()
    (job,) = held.running_jobs(held.claim_due([job_id], now_ms=0))
    Job.objects.update(lease_token=1)

    finished = completion.succeeded(job, tried=tried())
    Completer(clock=SystemClock(), worker="w", using="default").complete([Completion(job, finished)])

    assert Job.objects.count() == 1


@pytest.mark.parametrize(
    "late", [{"max_age": timedelta(minutes=1)}, {"max_lateness": timedelta(), "when_late": "dead"}]
)
def test_a_job_that_is_too_old_or_too_late_to_begin_tells_it_too(closing: BizType, late: dict[str, Any]) -> None:
    BizType.objects.filter(code="order.close").update(**late)
    job_id = due(due_at=timezone.now() - timedelta(hours=1))

    answer = claimer().claim_due([job_id], now_ms=0)

    assert (answer.ended, answer.locked, len(answer.died)) == ([job_id], [], 1)
    assert Job.objects.get(id=job_id).status == Status.DEAD
    assert follow_up()[0] == "failure.report"


def test_a_job_whose_worker_was_lost_for_good_tells_it_too(closing: BizType) -> None:
    from tasksapp.jobs.follow_ups import EndedJob, make_follow_ups
    from tasksapp.sql.leases import return_lost_leases

    BizType.objects.filter(code="order.close").update(guarantee="at_most_once")
    claimer().claim_due([due()], now_ms=0)

    later = timezone.now() + timedelta(days=1)
    return_lost_leases(
        now=later, limit=9, max_system_errors=3, using="default",
        on_end=lambda dead: make_follow_ups([EndedJob.of(job) for job in dead], using="default"),
    )  # fmt: skip

    assert follow_up()[0] == "failure.report"
    assert return_lost(now=later) == []


@pytest.mark.parametrize("change", [{"enabled": False}, {"code": "renamed"}])
def test_where_none_can_be_made_the_outcome_counts_all_the_same(
    closing: BizType, change: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    BizType.objects.filter(code="paid.report").update(**change)
    job_id = due()

    complete(job_id, completion.succeeded)

    assert Job.objects.get().status == Status.SUCCEEDED
    assert f"no job of paid.report follows job {job_id}" in caplog.text


def test_a_body_that_leaves_no_room_is_left_out(closing: BizType, settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "BODY_BYTES": 1_000}

    complete(due(body="x" * 900), completion.succeeded)

    _, _, follows, body = follow_up()
    assert (body, follows["body_left_out"]) == (None, True)


@pytest.mark.parametrize(("depth", "made"), [(7, True), (8, False)])
def test_a_chain_ends_after_eight(closing: BizType, depth: int, made: bool) -> None:
    complete(due(body={"follows": {"depth": depth}}), completion.succeeded)

    assert Job.objects.exclude(biz_type__code="order.close").exists() is made


def test_a_loop_is_refused_where_it_is_edited(closing: BizType, told: BizType) -> None:
    with pytest.raises(InvalidBizType, match=r"failure\.report → order\.close → failure\.report"):
        define(told, {"on_success": "order.close"})
    told.refresh_from_db()
    with pytest.raises(InvalidBizType, match="lead back"):
        define(told, {"on_dead": "failure.report"})


def test_receivers_hear_of_jobs_that_are_found_too_old_while_redis_is_away(biz_type: BizType) -> None:
    BizType.objects.update(max_age=timedelta(minutes=1))
    job_id = due(due_at=timezone.now() - timedelta(hours=1))
    heard: list[Any] = []

    def receive(*, job_id: Any, **_: Any) -> None:
        heard.append(job_id)

    signals.job_dead.connect(receive)
    claimer().claim_found([job_id], now_ms=int(timezone.now().timestamp() * 1000) + 1)
    signals.job_dead.disconnect(receive)

    assert heard == [job_id]


def test_receivers_hear_of_a_success_and_a_death_after_the_commit(biz_type: BizType) -> None:
    heard: list[tuple[str, Any, str]] = []

    def hear(name: str) -> Callable[..., None]:
        def receive(*, job_id: Any, last_error: str, **_: Any) -> None:
            heard.append((name, job_id, Job.objects.get(id=job_id).status))
            raise ZeroDivisionError  # of the project's own: it changes nothing

        return receive

    success, death = hear("success"), hear("death")
    signals.job_succeeded.connect(success)
    signals.job_dead.connect(death)
    try:
        good, bad = due(), due()
        complete(good, completion.succeeded)
        complete(bad, completion.gave_up, reason="no", error_class="http.410")
    finally:
        signals.job_succeeded.disconnect(success)
        signals.job_dead.disconnect(death)

    assert heard == [("success", good, "succeeded"), ("death", bad, "dead")]
    assert Transition.GIVE_UP.target == Status.DEAD
