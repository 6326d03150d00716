"""Celery tasks whose calls are jobs: scheduled, run as a worker runs them, and written down."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from celery import Celery, current_app, shared_task
from celery.exceptions import Ignore, Reject, Retry
from django.db import transaction
from django.utils import timezone

from delayhub import delayed_task
from delayhub.celery_support.delayed_task import JOB_HEADER, NOW_HEADER
from delayhub.engine import TimerLane, due_ms
from tasksapp.errors import InvalidJob, WrongState
from tasksapp.models import Attempt, BizType, Job, Status
from tasksapp.scheduling import create
from tasksapp.sql.claim_jobs import claim_jobs
from tasksapp.task_runs import arguments_of, lease_keeper
from tasksapp.tasks import _forward, run_task
from tests.integration.tasksapp.conftest import MakeBizType

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


@shared_task(name="tests.shop.plain")
def plain_task(order_id: int) -> None:
    if trouble:
        trouble.pop()()
    closed.append((order_id, "plain"))


@pytest.fixture(autouse=True)
def app() -> Iterator[Celery]:
    before = current_app._get_current_object()
    made = Celery("delayed_tasks", set_as_current=False)
    made.set_current()
    closed.clear()
    trouble.clear()
    yield made
    made.close()
    before.set_current()


def raising(error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


def work(task: Any, job_id: object, *args: object, now_ms: int | None = None) -> Any:
    """Runs the task for the job, as a worker that got its message does."""
    headers = {JOB_HEADER: str(job_id), NOW_HEADER: now_ms or due_ms(timezone.now())}
    task.push_request(headers=headers, hostname="w1@here", called_directly=False)
    try:
        return task(*args)
    finally:
        task.pop_request()


def test_a_call_becomes_a_job_and_makes_its_biz_type(lane: TimerLane) -> None:
    scheduled = close_order.schedule(args=[42], delay=timedelta(minutes=30), biz_id="order-42")

    job = Job.objects.select_related("biz_type").get(id=scheduled.id)
    assert (job.status, job.biz_id, job.max_attempts) == (Status.PENDING, "order-42", 3)
    assert job.body == '{"args":[42],"kwargs":{}}'
    assert (job.biz_type.target, job.biz_type.task_name) == (BizType.Target.CELERY, "tests.shop.close")
    assert lane.count("shop.close") == 1


def test_the_job_and_its_biz_type_go_with_the_callers_transaction(lane: TimerLane) -> None:
    with pytest.raises(LookupError), transaction.atomic():
        close_order.schedule(args=[1])
        raise LookupError

    assert not BizType.objects.exists()
    assert lane.count() == 0

    # A biz type that was rolled back is not remembered.
    assert Job.objects.filter(id=close_order.schedule(args=[1]).id).exists()


def test_a_job_can_be_moved_and_cancelled(lane: TimerLane) -> None:
    scheduled: Any = close_order.schedule(args=[1], delay=timedelta(minutes=30))

    scheduled.reschedule(delay=timedelta(minutes=50))
    assert scheduled.job.due_at - timezone.now() > timedelta(minutes=49)

    scheduled.cancel()
    assert scheduled.job.status == Status.CANCELLED
    assert lane.count() == 0
    with pytest.raises(WrongState):
        scheduled.cancel()


def test_a_biz_type_with_another_target_is_refused(make_biz_type: MakeBizType) -> None:
    make_biz_type("shop.close")

    with pytest.raises(InvalidJob, match="does not run the task"):
        close_order.schedule(args=[1])


def test_the_same_key_makes_one_job() -> None:
    first: Any = close_order.schedule(args=[1], idempotency_key="k")
    second: Any = close_order.schedule(args=[1], idempotency_key="k")

    assert (second.id, second.created) == (first.id, False)


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

    with pytest.raises(Retry):
        work(close_order, scheduled.id, now_ms=due_ms(scheduled.job.next_run_at))
    job = scheduled.job
    assert (job.status, job.attempts, job.last_error) == (Status.PENDING, 2, "ValueError: no such order")
    assert timedelta(seconds=55) < job.next_run_at - timezone.now() <= timedelta(seconds=60)
    assert lane.count("shop.close") == 1

    with pytest.raises(ValueError, match="no such order"):
        work(close_order, scheduled.id, now_ms=due_ms(job.next_run_at))
    assert scheduled.job.status == Status.DEAD
    assert scheduled.job.last_error == "all 3 attempts failed; the last: ValueError: no such order"
    assert list(Attempt.objects.filter(job=job).values_list("number", flat=True)) == [1, 2, 3]


def test_retry_in_a_task_gives_the_time(make_biz_type: MakeBizType) -> None:
    make_biz_type("shop.close", target="celery", task_name="tests.shop.close_again", backoff_min_seconds=600)
    scheduled: Any = other_task.schedule()

    with pytest.raises(Retry):
        work(other_task, scheduled.id)

    job = scheduled.job
    assert (job.status, job.attempts, job.last_error) == (Status.PENDING, 1, "the task asked for a retry")
    assert timedelta(0) < job.next_run_at - timezone.now() <= timedelta(seconds=3)


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
    claim_jobs([scheduled.id], now=now, lease_seconds=60, worker="w", using="default", forward_seconds=300)
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


def call_run_task(job_id: object, task_name: str) -> None:
    """Runs the bridge as a worker does."""
    headers = {JOB_HEADER: str(job_id), NOW_HEADER: due_ms(timezone.now())}
    run_task.push_request(headers=headers, hostname="w1@here", called_directly=False)  # type: ignore[attr-defined]
    try:
        run_task.run(task_name)
    finally:
        run_task.pop_request()  # type: ignore[attr-defined]


def test_a_task_that_knows_nothing_of_jobs_runs_as_one_too(make_biz_type: MakeBizType) -> None:
    make_biz_type("shop.plain", target="celery", task_name="tests.shop.plain", max_attempts=2)
    job_id = create("shop.plain", body={"order_id": 7}).job_id
    trouble.append(raising(ValueError("no such order")))

    with pytest.raises(Retry):
        call_run_task(job_id, "tests.shop.plain")
    assert Job.objects.get().last_error == "ValueError: no such order"

    Job.objects.update(next_run_at=timezone.now())
    call_run_task(job_id, "tests.shop.plain")
    assert closed == [(7, "plain")]
    assert (Job.objects.get().status, Job.objects.get().attempts) == (Status.SUCCEEDED, 2)


def test_a_task_that_nobody_registered_is_a_failed_attempt(make_biz_type: MakeBizType) -> None:
    make_biz_type("shop.plain", target="celery", task_name="tests.shop.nobody")
    job_id = create("shop.plain").job_id

    with pytest.raises(Retry):
        call_run_task(job_id, "tests.shop.nobody")

    assert "no task is registered as 'tests.shop.nobody'" in Job.objects.get().last_error


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
        ("tests.shop.close", "", ("tests.shop.close", (), None)),
        ("tests.shop.close", "slow", ("tests.shop.close", (), "slow")),
        # a plain one is run by ours
        ("tests.shop.plain", "slow", ("tasksapp.run_task", ["tests.shop.plain"], "slow")),
        # one that only other workers know is sent as it is
        ("elsewhere.close", "", ("elsewhere.close", (), None)),
    ],
)
def test_a_due_job_is_sent_to_its_task(
    make_biz_type: MakeBizType,
    app: Celery,
    monkeypatch: pytest.MonkeyPatch,
    task_name: str,
    task_queue: str,
    sent: tuple[object, ...],
) -> None:
    make_biz_type("shop.sent", target="celery", task_name=task_name, task_queue=task_queue)
    job_id, now = create("shop.sent").job_id, timezone.now() + timedelta(seconds=1)
    (job,) = claim_jobs([job_id], now=now, lease_seconds=60, worker="w", using="default", forward_seconds=300).forwarded
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr(app, "send_task", lambda name, **options: calls.append({"name": name, **options}))

    _forward(app, job, now_ms=5, using="default")

    (call,) = calls
    assert (call["name"], call["args"], call["queue"]) == sent
    assert call["headers"] == {JOB_HEADER: str(job_id), NOW_HEADER: 5}
