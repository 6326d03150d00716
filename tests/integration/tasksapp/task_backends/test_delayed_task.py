"""Celery tasks whose calls are jobs: scheduled, run as a worker runs them, and written down."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from celery import Celery
from celery.exceptions import Ignore, Reject, Retry
from django.db import transaction
from django.utils import timezone

from delayhub import delayed_task
from delayhub.engine import TimerLane, due_ms
from delayhub.testing import without_timers
from tasksapp.errors import WrongState
from tasksapp.models import Attempt, BizType, Job, Status
from tasksapp.workers.task_runner import lease_keeper
from tests.elapsed import is_after
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.claiming import claim
from tests.task_messages import work

pytestmark = pytest.mark.django_db(transaction=True)

closed: list[tuple[int, str]] = []
#: What the next call of ``close_order`` does first.
trouble: list[Callable[[], None]] = []


@delayed_task(biz_type="shop.close", max_attempts=3, name="tests.shop.close")
def close_order(order_id: int, *, reason: str = "unpaid") -> str:
    if trouble:
        trouble.pop()()
    closed.append((order_id, reason))
    return "closed"


@delayed_task(biz_type="shop.close", bind=True, name="tests.shop.close_again")
def other_task(self: Any) -> None:
    raise self.retry(countdown=3)


@pytest.fixture(autouse=True)
def _nothing_ran(current_celery: Celery) -> None:
    closed.clear()
    trouble.clear()


def raising(error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


def test_a_call_becomes_a_job_and_makes_its_biz_type(lane: TimerLane) -> None:
    scheduled = close_order.schedule(args=[42], delay=timedelta(minutes=30), biz_id="order-42")

    job = Job.objects.select_related("biz_type").get(id=scheduled.id)
    assert (job.status, job.biz_id, job.max_attempts) == (Status.PENDING, "order-42", 3)
    assert job.body == '{"args":[42],"kwargs":{}}'
    assert (job.biz_type.target, job.biz_type.task_name) == (BizType.Target.CELERY, "tests.shop.close")
    assert lane.count("shop.close") == 1


def test_the_job_goes_with_the_callers_transaction(lane: TimerLane) -> None:
    with pytest.raises(LookupError), transaction.atomic():
        close_order.schedule(args=[1])
        raise LookupError

    assert not Job.objects.exists()
    assert lane.count() == 0

    # A biz type that was rolled back, as it is with SQLite, is not remembered.
    assert Job.objects.filter(id=close_order.schedule(args=[1]).id).exists()


def test_a_call_says_whether_its_timer_is_set_once_it_is_committed(lane: TimerLane) -> None:
    with transaction.atomic():
        scheduled = close_order.schedule(args=[42], delay=timedelta(minutes=30))
        before = scheduled.armed

    assert (before, scheduled.armed) == (None, True)
    with without_timers():
        assert close_order.schedule(args=[43]).armed is False


def test_a_job_can_be_moved_and_cancelled(lane: TimerLane) -> None:
    scheduled: Any = close_order.schedule(args=[1], delay=timedelta(minutes=30))

    scheduled.reschedule(delay=timedelta(minutes=50))
    assert scheduled.job.due_at - timezone.now() > timedelta(minutes=49)

    scheduled.cancel()
    assert scheduled.job.status == Status.CANCELLED
    assert lane.count() == 0
    with pytest.raises(WrongState):
        scheduled.cancel()


@pytest.mark.parametrize("wrong", [{"args": "7"}, {"args": 7}, {"kwargs": [7]}])
def test_what_is_no_list_of_arguments_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"^(args|kwargs) must be a (list|dictionary)"):
        close_order.schedule(**wrong)

    assert not Job.objects.exists()


def test_the_same_key_makes_one_job() -> None:
    first: Any = close_order.schedule(args=[1], idempotency_key="k")
    second: Any = close_order.schedule(args=[1], idempotency_key="k")

    assert (second.id, second.created) == (first.id, False)


def test_a_call_with_the_debounce_key_of_one_that_waits_takes_its_place() -> None:
    first = close_order.schedule(args=[42], delay=timedelta(hours=1), debounce_key="cart-7")
    again = close_order.schedule(args=[43], debounce_key="cart-7", debounce_max_wait=timedelta(minutes=5))

    assert (again.id, again.created, again.replaced) == (first.id, False, True)
    assert work(close_order, again.id) == "closed"
    later = close_order.schedule(args=[44], debounce_key="cart-7")
    assert (later.id != first.id, later.created, later.replaced) == (True, True, False)
    assert closed == [(43, "unpaid")]


def test_a_call_may_say_whose_job_it_is() -> None:
    scheduled: Any = close_order.schedule(args=[42], delay=timedelta(hours=1), flow_key="customer-7")

    assert Job.objects.get(id=scheduled.id).flow_key == "customer-7"


def test_a_due_job_runs_with_its_arguments_and_is_written_down() -> None:
    scheduled: Any = close_order.schedule(args=[42], kwargs={"reason": "fraud"})

    assert work(close_order, scheduled.id) == "closed"

    assert closed == [(42, "fraud")]
    job = scheduled.job
    assert (job.status, job.attempts, job.worker, job.lease_token) == (Status.SUCCEEDED, 1, "w1@here", None)
    attempt = Attempt.objects.get(job=job)
    assert (attempt.number, attempt.error, attempt.worker) == (1, "", "w1@here")
    assert attempt.lateness_ms >= 0


def test_a_job_runs_once_however_often_its_message_comes() -> None:
    scheduled = close_order.schedule(args=[1])
    work(close_order, scheduled.id)

    with pytest.raises(Ignore):
        work(close_order, scheduled.id)

    assert len(closed) == 1


def test_a_cancelled_job_does_not_run() -> None:
    scheduled = close_order.schedule(args=[1])
    scheduled.cancel()

    with pytest.raises(Ignore):
        work(close_order, scheduled.id)

    assert closed == []


def test_an_exception_is_an_attempt_and_the_biz_type_says_when_the_next_comes(
    make_biz_type: MakeBizType, lane: TimerLane
) -> None:
    make_biz_type(
        "shop.close", target="celery", task_name="tests.shop.close", backoff="list", backoff_list=[0, 60], jitter=0
    )
    scheduled: Any = close_order.schedule(args=[1])
    trouble[:] = [raising(ValueError("no such order")) for _ in range(3)]

    with pytest.raises(Retry) as again:
        work(close_order, scheduled.id)
    assert isinstance(again.value.exc, ValueError)

    before = timezone.now()
    with pytest.raises(Retry):
        work(close_order, scheduled.id, now_ms=due_ms(scheduled.job.next_run_at))
    job = scheduled.job
    assert (job.status, job.attempts, job.last_error) == (Status.PENDING, 2, "ValueError: no such order")
    assert is_after(job.next_run_at, seconds=60, since=before)
    assert lane.count("shop.close") == 1

    with pytest.raises(ValueError, match="no such order"):
        work(close_order, scheduled.id, now_ms=due_ms(job.next_run_at))
    assert scheduled.job.status == Status.DEAD
    assert scheduled.job.last_error == "all 3 attempts failed; the last: ValueError: no such order"
    assert list(Attempt.objects.filter(job=job).values_list("number", flat=True)) == [1, 2, 3]


def test_retry_in_a_task_gives_the_time(make_biz_type: MakeBizType) -> None:
    make_biz_type("shop.close", target="celery", task_name="tests.shop.close_again", backoff_min_seconds=600)
    scheduled: Any = other_task.schedule()
    before = timezone.now()

    with pytest.raises(Retry):
        work(other_task, scheduled.id)

    job = scheduled.job
    assert (job.status, job.attempts, job.last_error) == (Status.PENDING, 1, "the task asked for a retry")
    assert is_after(job.next_run_at, seconds=3, since=before)


def test_a_task_that_rejects_its_job_is_not_asked_again() -> None:
    scheduled: Any = close_order.schedule(args=[1])
    trouble.append(raising(Reject("no such order")))

    with pytest.raises(Reject):
        work(close_order, scheduled.id)

    assert scheduled.job.status == Status.DEAD


def test_a_task_that_has_nothing_to_say_has_succeeded() -> None:
    scheduled: Any = close_order.schedule(args=[1])
    trouble.append(raising(Ignore()))

    work(close_order, scheduled.id)

    assert scheduled.job.status == Status.SUCCEEDED


def test_a_job_that_was_moved_while_its_message_waited_runs_at_its_new_time(lane: TimerLane) -> None:
    scheduled = close_order.schedule(args=[1])
    scheduled.reschedule(delay=timedelta(minutes=5))
    lane.cancel("shop.close", [str(scheduled.id)])

    with pytest.raises(Ignore):
        work(close_order, scheduled.id)

    assert closed == []
    assert lane.count("shop.close") == 1


def test_a_job_that_is_under_way_when_its_biz_type_is_paused_waits_for_nothing_else(
    make_biz_type: MakeBizType,
) -> None:
    biz_type = make_biz_type("shop.close", target="celery", task_name="tests.shop.close")
    scheduled: Any = close_order.schedule(args=[1])
    now = timezone.now()
    claim(scheduled.id, now=now, forward_seconds=300)
    assert scheduled.job.lease_until is not None
    biz_type.paused_until = now + timedelta(hours=1)
    biz_type.save()

    with pytest.raises(Ignore):
        work(close_order, scheduled.id)

    assert (scheduled.job.status, scheduled.job.lease_until) == (Status.PENDING, None)


def test_a_worker_whose_clock_is_behind_believes_the_message(lane: TimerLane) -> None:
    scheduled: Any = close_order.schedule(args=[1], delay=timedelta(seconds=20))

    work(close_order, scheduled.id, now_ms=due_ms(scheduled.job.due_at))

    assert scheduled.job.status == Status.SUCCEEDED


def test_what_comes_after_the_lease_was_lost_does_not_count() -> None:
    scheduled: Any = close_order.schedule(args=[1])

    def lose() -> None:
        Job.objects.update(status=Status.PENDING, lease_token=None, lease_until=None)

    trouble.append(lose)

    with pytest.raises(Ignore):
        work(close_order, scheduled.id)

    assert scheduled.job.status == Status.PENDING
    assert not Attempt.objects.exists()


def test_the_lease_of_a_long_task_is_renewed_while_it_runs() -> None:
    scheduled: Any = close_order.schedule(args=[1])
    seen: list[Any] = []

    def look() -> None:
        Job.objects.update(lease_until=timezone.now())
        seen.append(lease_keeper.run_once())
        seen.append(Job.objects.get().lease_until - timezone.now())

    trouble.append(look)
    work(close_order, scheduled.id)

    kept, left = seen
    assert kept == 1
    assert left > timedelta(seconds=60)
    assert lease_keeper.run_once() == 0


def test_a_slot_in_flight_is_free_once_the_task_is_done(make_biz_type: MakeBizType, lane: TimerLane) -> None:
    make_biz_type("shop.close", target="celery", task_name="tests.shop.close", max_in_flight=1)
    scheduled = close_order.schedule(args=[1])
    in_flight = lane.keys.queue("shop.close").in_flight
    lane.client.zadd(in_flight, {str(scheduled.id): due_ms(timezone.now() + timedelta(minutes=1))})

    work(close_order, scheduled.id)

    assert lane.client.zcard(in_flight) == 0


@pytest.mark.parametrize("error", [ValueError("sent or not"), None])
def test_a_task_that_may_run_once_is_not_tried_again(make_biz_type: MakeBizType, error: Exception | None) -> None:
    make_biz_type("shop.close", target="celery", task_name="tests.shop.close", guarantee="at_most_once")
    scheduled: Any = close_order.schedule(args=[1])
    if error is None:
        work(close_order, scheduled.id)
    else:
        trouble.append(raising(error))
        with pytest.raises(ValueError, match="sent or not"):
            work(close_order, scheduled.id)

    job = scheduled.job
    assert (job.status, job.attempts) == (Status.DEAD if error else Status.SUCCEEDED, 1)
    assert Attempt.objects.get(job=job).number == 1
