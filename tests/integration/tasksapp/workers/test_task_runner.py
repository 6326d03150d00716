"""Jobs whose target is a Celery task of any kind: how they get there, and with which arguments."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import redis
from celery import Celery, shared_task
from celery.exceptions import Retry
from django.utils import timezone

from delayhub import delayed_task
from delayhub.celery_support.delayed_task import JOB_HEADER, NOW_HEADER
from tasksapp.jobs.creation import create
from tasksapp.models import Attempt, Job, Status
from tasksapp.tasks import _forward
from tasksapp.timers.redis_clock import RedisClock
from tasksapp.workers.task_runner import TaskRunner, arguments_of, lease_keeper
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.claiming import claim
from tests.task_messages import call_run_task

pytestmark = pytest.mark.django_db(transaction=True)

closed: list[int] = []
trouble: list[Exception] = []


@shared_task(name="tests.target.plain", time_limit=30)
def plain_task(order_id: int) -> None:
    if trouble:
        raise trouble.pop()
    closed.append(order_id)


@shared_task(name="tests.target.async")
async def async_task() -> None:
    closed.append(1)


@shared_task(name="tests.target.generator")
def generator_task() -> Iterator[int]:
    closed.append(1)
    yield 1


@delayed_task(biz_type="shop.sent", name="tests.target.delayed")
def delayed(order_id: int) -> None:
    closed.append(order_id)


@pytest.fixture(autouse=True)
def _nothing_ran(current_celery: Celery, settings: Any) -> None:
    settings.DELAYHUB |= {"ALLOWED_TASKS": ["tests.target.*", "elsewhere.*"], "ALLOWED_QUEUES": ["slow"]}
    closed.clear()
    trouble.clear()


def test_a_task_that_knows_nothing_of_jobs_runs_as_one_too(make_biz_type: MakeBizType) -> None:
    make_biz_type("shop.plain", target="celery", task_name="tests.target.plain", max_attempts=2)
    job_id = create("shop.plain", body={"order_id": 7}).job_id
    trouble.append(ValueError("no such order"))

    with pytest.raises(Retry):
        call_run_task(job_id, "tests.target.plain")
    assert Job.objects.get().last_error == "ValueError: no such order"

    Job.objects.update(next_run_at=timezone.now())
    call_run_task(job_id, "tests.target.plain")
    assert closed == [7]
    assert (Job.objects.get().status, Job.objects.get().attempts) == (Status.SUCCEEDED, 2)


@pytest.mark.parametrize(
    ("task_name", "error"),
    [
        (
            "tests.target.async",
            "TypeError: the task gave back a coroutine, of which nothing ran: write a def that calls",
        ),
        ("tests.target.generator", "TypeError: the task gave back a generator, of which nothing ran: write a def"),
    ],
)
def test_a_task_of_which_nothing_runs_is_a_failed_attempt(
    make_biz_type: MakeBizType, task_name: str, error: str
) -> None:
    make_biz_type("shop.plain", target="celery", task_name=task_name)
    job_id = create("shop.plain").job_id

    with pytest.raises(Retry):
        call_run_task(job_id, task_name)

    assert closed == []
    assert (Job.objects.get().status, Job.objects.get().attempts) == (Status.PENDING, 1)
    assert Job.objects.get().last_error.startswith(error)


def test_a_task_that_is_not_registered_is_a_failed_attempt(make_biz_type: MakeBizType) -> None:
    make_biz_type("shop.plain", target="celery", task_name="tests.target.nobody")
    job_id = create("shop.plain").job_id

    with pytest.raises(Retry):
        call_run_task(job_id, "tests.target.nobody")

    assert "no task is registered as 'tests.target.nobody'" in Job.objects.get().last_error


@pytest.mark.parametrize(
    ("body", "args", "kwargs"),
    [
        # as delayed tasks write it
        ('{"args":[1],"kwargs":{"a":2}}', [1], {"a": 2}),
        ('{"args":[1]}', [1], {}),
        ('{"kwargs":{"a":2}}', [], {"a": 2}),
        # as people write it
        ('{"order_id":7}', (), {"order_id": 7}),
        ('{"args":[1],"order_id":7}', (), {"args": [1], "order_id": 7}),
        ('{"args":7}', (), {"args": 7}),
        ("[1,2]", [1, 2], {}),
        ("{}", (), {}),
        ("null", (), {}),
        ('"order-7"', ("order-7",), {}),
    ],
)
def test_a_body_becomes_arguments(body: str, args: object, kwargs: object) -> None:
    assert arguments_of(body) == (args, kwargs)


@pytest.mark.parametrize(
    ("task_name", "task_queue", "sent"),
    [
        # a delayed task understands the header
        ("tests.target.delayed", "", ("tests.target.delayed", (), None)),
        ("tests.target.delayed", "slow", ("tests.target.delayed", (), "slow")),
        # a plain one is run by ours
        ("tests.target.plain", "slow", ("tasksapp.run_task", ["tests.target.plain"], "slow")),
        # one that only other workers know, and that nothing declares, may be a plain one
        ("elsewhere.close", "", ("tasksapp.run_task", ["elsewhere.close"], None)),
    ],
)
def test_a_due_job_is_sent_to_its_task(
    make_biz_type: MakeBizType,
    current_celery: Celery,
    monkeypatch: pytest.MonkeyPatch,
    task_name: str,
    task_queue: str,
    sent: tuple[object, ...],
) -> None:
    # A task of this process would be found by its biz type; "elsewhere" has none here.
    code = "shop.elsewhere" if task_name == "elsewhere.close" else "shop.sent"
    make_biz_type(code, target="celery", task_name=task_name, task_queue=task_queue)
    job_id, now = create(code).job_id, timezone.now() + timedelta(seconds=1)
    (job,) = claim(job_id, now=now, forward_seconds=300).forwarded
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr(current_celery, "send_task", lambda name, **options: calls.append({"name": name, **options}))

    _forward(current_celery, job, now_ms=5, using="default", worker="w1")

    (call,) = calls
    assert (call["name"], call["args"], call["queue"]) == sent
    assert call["headers"] == {JOB_HEADER: str(job_id), NOW_HEADER: 5}
    # The limits of a plain task go with the message: the worker would go by those of ours.
    assert call.get("time_limit") == (30 if call["args"] == ["tests.target.plain"] else None)


@pytest.fixture
def runner(redis_client: redis.Redis) -> TaskRunner:
    """The runner of the worker w1."""
    return TaskRunner(clock=RedisClock(lambda: redis_client), keeper=lease_keeper, worker="w1", using="default")


def test_a_hard_time_limit_is_a_failed_attempt(make_biz_type: MakeBizType, runner: TaskRunner) -> None:
    make_biz_type("shop.plain", target="celery", task_name="tests.target.plain", max_attempts=2, jitter=0)
    job_id = create("shop.plain").job_id
    claim(job_id, worker="w1")

    assert runner.fail_for_time(job_id, seconds=1.5)

    job = Job.objects.get()
    assert (job.status, job.attempts, job.system_errors) == (Status.PENDING, 1, 0)
    assert job.last_error == "TimeLimitExceeded: the task ran for its time limit of 1.5 s"
    assert job.next_run_at > timezone.now()
    assert Attempt.objects.get().duration_ms == 1500
    assert not runner.fail_for_time(job_id, seconds=1.5)


def test_a_time_limit_says_nothing_of_a_job_that_another_worker_runs(
    make_biz_type: MakeBizType, runner: TaskRunner
) -> None:
    make_biz_type("shop.plain", target="celery", task_name="tests.target.plain")
    job_id = create("shop.plain").job_id
    claim(job_id, worker="w2")

    assert not runner.fail_for_time(job_id, seconds=1)

    assert Job.objects.get().status == Status.RUNNING
