"""What Celery's options and arguments mean in a job, down to its row."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import pytest
import redis
from celery import Celery
from celery.exceptions import Reject, Retry
from django.utils import timezone

import delayhub
from delayhub import delayed_task
from delayhub.engine import DelayQueue, due_ms
from tasksapp.errors import InvalidJob
from tasksapp.jobs.retry_policy import LONGEST_WAIT
from tasksapp.models import Attempt, Job, Status
from tasksapp.tasks import _forward
from tests.integration.tasksapp.claiming import claim
from tests.task_messages import work

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _own_app(current_celery: Celery) -> None:
    """Tasks that a test makes go with its app."""


def test_the_types_that_celery_carries_reach_the_task() -> None:
    given = [Decimal("12.30"), date(2026, 1, 2), UUID(int=7)]
    got: list[Any] = []

    @delayed_task(biz_type="shop.typed", name="tests.shop.typed")
    def typed(*values: Any) -> None:
        got.extend(values)

    work(typed, typed.schedule(args=given).id)

    assert got == given


def test_a_refused_argument_is_named_and_not_called_a_body() -> None:
    @delayed_task(biz_type="shop.any", name="tests.shop.any")
    def anything(value: Any) -> None:
        """Does nothing."""

    with pytest.raises(TypeError, match=r"args\[0\] cannot be an argument of a job"):
        anything.schedule(args=[{1, 2}])
    with pytest.raises(InvalidJob, match=r"^the arguments may have 65536 bytes") as refused:
        anything.schedule(args=["x" * 70_000])

    assert refused.value.field == "arguments"
    assert not Job.objects.exists()


def test_the_waits_of_retry_backoff_grow_with_the_attempts() -> None:
    @delayed_task(
        biz_type="shop.grow", name="tests.shop.grow", autoretry_for=(ValueError,), retry_backoff=5, retry_jitter=False
    )
    def grow() -> None:
        raise ValueError("not yet")

    scheduled: Any = grow.schedule()
    waits = []
    for _ in range(3):
        with pytest.raises(Retry) as again:
            work(grow, scheduled.id, now_ms=due_ms(scheduled.job.next_run_at))
        began = Attempt.objects.latest("number").started_at
        waits.append(round((again.value.when - began).total_seconds()))

    assert waits == [5, 10, 20]


def test_a_retry_beyond_max_retries_is_the_end_of_the_job() -> None:
    @delayed_task(biz_type="shop.limit", name="tests.shop.limit", bind=True)
    def limited(self: Any) -> None:
        raise self.retry(countdown=0, max_retries=1)

    scheduled: Any = limited.schedule()
    with pytest.raises(Retry):
        work(limited, scheduled.id)
    with pytest.raises(Reject):
        work(limited, scheduled.id, now_ms=due_ms(scheduled.job.next_run_at))

    assert (scheduled.job.status, scheduled.job.attempts) == (Status.DEAD, 2)
    assert "max_retries=1" in scheduled.job.last_error


@pytest.mark.parametrize(
    ("asked", "wait"),
    [
        ({"countdown": -(10**400)}, timedelta(0)),
        ({"countdown": 10**400}, LONGEST_WAIT),
        ({"countdown": float("inf")}, LONGEST_WAIT),
        ({"countdown": float("nan")}, timedelta(0)),
        ({"eta": datetime.min}, timedelta(0)),  # noqa: DTZ901  without a time zone, as Celery takes it
        ({"eta": datetime.fromisoformat("9999-12-31T23:59:59.999999-12:00")}, LONGEST_WAIT),
    ],
)
def test_a_retry_at_an_end_of_time_comes_within_the_bounds(asked: dict[str, Any], wait: timedelta) -> None:
    name = f"tests.shop.far{uuid4().hex}"

    @delayed_task(biz_type="shop.far", name=name, bind=True)
    def far(self: Any) -> None:
        raise self.retry(**asked)

    scheduled: Any = far.schedule()
    with pytest.raises(Retry) as again:
        work(far, scheduled.id)

    began = Attempt.objects.latest("started_at").started_at
    assert abs(again.value.when - began - wait) < timedelta(seconds=10)


@pytest.mark.parametrize("options", [{"unique": True}, {"unique": "one"}, {"flow_key_by": "order"}])
def test_keys_that_celerys_calls_have_are_none_of_its_jobs(
    current_celery: Celery, broker: str, redis_client: redis.Redis, options: dict[str, Any]
) -> None:
    current_celery.conf.broker_url = broker
    delayhub.install(current_celery)

    code = f"shop.keyed.{'.'.join(map(str, options.values()))}".lower()

    @delayed_task(biz_type=code, name=f"tests.{code}", **options)
    def keyed(order: int) -> None:
        """Does nothing."""

    for order in (1, 2):
        (job,) = claim(keyed.schedule(args=[order]).id, forward_seconds=300).forwarded
        _forward(current_celery, job, now_ms=0, using="default", worker="w1")

    assert DelayQueue(redis_client, "celery").count().ready == 2


@pytest.mark.parametrize("own", [None, "slow"])
def test_a_message_that_still_waits_is_not_sent_once_more(
    current_celery: Celery, broker: str, redis_client: redis.Redis, own: str | None
) -> None:
    current_celery.conf.broker_url = broker
    delayhub.install(current_celery)

    @delayed_task(biz_type=f"shop.slow.{own}".lower(), name=f"tests.shop.slow.{own}", queue=own)
    def slow() -> None:
        """Does nothing."""

    queue, now, made = DelayQueue(redis_client, own or "celery"), timezone.now(), slow.schedule().id

    def come_due(seconds: int) -> int:
        at = now + timedelta(seconds=seconds)
        (job,) = claim(made, now=at, forward_seconds=300).forwarded
        _forward(current_celery, job, now_ms=0, using="default", worker="w1")
        return queue.count().ready

    assert [come_due(seconds) for seconds in (1, 302, 603)] == [1, 1, 1]
    queue.purge()
    assert come_due(904) == 1
