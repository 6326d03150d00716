"""A delayed task: scheduled as a job, run with the arguments of its row, ended as Celery understands it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery, Task
from celery.exceptions import Ignore, Reject, Retry

from delayhub.celery_support import job_store as module
from delayhub.celery_support.delayed_task import JOB_HEADER, DelayedTask, delayed_task
from delayhub.celery_support.job_store import Again, Done, Failed, JobCall, NotRun, TaskOutcome, register_job_store
from delayhub.errors import JobStoreMissing
from tests.task_messages import message_of

pytestmark = pytest.mark.usefixtures("current_celery")

SOON = datetime(2026, 1, 2, tzinfo=UTC)


class ListStore:
    """Keeps what it was asked for; runs a job with the arguments it was made with."""

    def __init__(self) -> None:
        self.scheduled: list[dict[str, Any]] = []
        self.outcome: TaskOutcome | None = None
        self.attempt = 1

    def schedule(self, task: DelayedTask[..., Any], **asked: Any) -> Any:
        self.scheduled.append({"biz_type": task.biz_type, "max_attempts": task.job_max_attempts, **asked})
        return SimpleNamespace(id=len(self.scheduled))

    def run(
        self, job_id: str, call: Callable[[JobCall], Any], *, task_name: str, worker: str, now_ms: int
    ) -> TaskOutcome:
        if self.outcome is not None:
            return self.outcome
        asked = self.scheduled[int(job_id) - 1]
        return Done(call(JobCall(job_id, self.attempt, 5, asked["args"], asked["kwargs"])))


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> ListStore:
    monkeypatch.setattr(module._Registry, "store", None)
    kept = ListStore()
    register_job_store(kept)
    return kept


# Shared tasks belong to every app of the process, so they are made once.


@delayed_task(biz_type="order.close", max_attempts=5, name="tests.close_order")
def close_order(order_id: int, reason: str = "unpaid") -> str:
    return f"{order_id} {reason}"


@delayed_task(biz_type="countdown", bind=True, name="tests.countdown")
def countdown(self: Any, left: int) -> int:
    return left if left == 0 else self(left - 1)


@delayed_task(biz_type="order.close", bind=True, name="tests.impatient")
def impatient(self: Any) -> None:
    raise self.retry(countdown=7, exc=ValueError("not yet"))


def message(task: Any, *, headers: dict[str, Any] | None, args: tuple[Any, ...] = ()) -> Any:
    """Calls the task as a worker does."""
    with message_of(task, headers=headers):
        return task(*args)


def test_a_scheduled_call_becomes_a_job_of_the_biz_type(store: ListStore) -> None:
    close_order.schedule(args=[42], delay=timedelta(minutes=30), biz_id="order-42")

    assert store.scheduled == [
        {
            "biz_type": "order.close",
            "max_attempts": 5,
            "args": [42],
            "kwargs": {},
            "biz_id": "order-42",
            "delay": timedelta(minutes=30),
        }
    ]


def test_a_call_that_cannot_work_is_refused_when_it_is_scheduled(store: ListStore) -> None:
    with pytest.raises(TypeError, match="order_id"):
        close_order.schedule()

    assert store.scheduled == []


def test_an_option_that_there_is_not_is_refused_when_a_call_is_scheduled(store: ListStore) -> None:
    with pytest.raises(TypeError, match="'prio'"):
        close_order.schedule(args=[42], prio=1)  # type: ignore[call-arg]  # the fault that is refused

    assert store.scheduled == []


def test_a_job_runs_with_the_arguments_of_its_row(store: ListStore) -> None:
    job = close_order.schedule(args=[42], kwargs={"reason": "fraud"})

    assert message(close_order, headers={JOB_HEADER: str(job.id)}) == "42 fraud"


@pytest.mark.parametrize("headers", [None, {"other": "1"}])
def test_without_the_header_it_is_a_plain_call(store: ListStore, headers: Any) -> None:
    assert message(close_order, headers=headers, args=(7,)) == "7 unpaid"
    assert close_order(8) == "8 unpaid"


def test_a_task_in_a_job_can_call_itself(store: ListStore) -> None:
    job = countdown.schedule(args=[3])

    assert message(countdown, headers={JOB_HEADER: str(job.id)}) == 0


def test_outcomes_become_what_celery_understands(store: ListStore) -> None:
    headers = {JOB_HEADER: "1"}
    error = ValueError("no such order")

    store.outcome = Again(SOON, error)
    with pytest.raises(Retry) as again:
        message(close_order, headers=headers)
    assert again.value.when == SOON

    store.outcome = Failed(error)
    with pytest.raises(ValueError, match="no such order"):
        message(close_order, headers=headers)

    store.outcome = NotRun("cancelled")
    with pytest.raises(Ignore):
        message(close_order, headers=headers)


def test_retry_in_a_job_gives_only_the_time(store: ListStore) -> None:
    job = impatient.schedule()

    with pytest.raises(Retry) as asked:
        message(impatient, headers={JOB_HEADER: str(job.id)})

    assert asked.value.when == 7
    assert isinstance(asked.value.exc, ValueError)


def test_without_a_store_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch, store: ListStore) -> None:
    monkeypatch.setattr(module._Registry, "store", None)

    with pytest.raises(JobStoreMissing, match="INSTALLED_APPS"):
        close_order.schedule(args=[1])


def test_its_message_stays_with_the_worker_until_the_outcome_is_written() -> None:
    assert close_order.acks_late
    assert close_order.reject_on_worker_lost


def test_a_function_that_a_worker_would_call_and_never_run_is_refused() -> None:
    async def remind() -> None:
        """Would only make a coroutine."""

    def each() -> Iterator[int]:
        yield 1

    with pytest.raises(TypeError, match=r"remind is an async def, .* asyncio\.run"):
        delayed_task(biz_type="order.remind")(remind)
    with pytest.raises(TypeError, match="each is a generator"):
        delayed_task(biz_type="order.remind")(each)


def test_a_task_knows_its_job_and_how_often_it_was_tried(store: ListStore) -> None:
    seen: list[Any] = []

    @delayed_task(biz_type="order.close", bind=True, name="tests.curious")
    def curious(self: Any, order_id: int) -> None:
        seen.append((self.job, self.request.retries))

    store.attempt = 3
    job = curious.schedule(args=[42])
    message(curious, headers={JOB_HEADER: str(job.id)})
    message(curious, headers=None, args=(43,))

    (in_job, retries), plain = seen
    assert (in_job.id, in_job.attempt, in_job.max_attempts, retries) == (str(job.id), 3, 5, 2)
    assert plain == (None, 0)


class Audited(Task):
    """A project's own class of tasks."""

    abstract = True
    max_retries = 7
    queue = "audited"
    calls: list[str] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls.append(self.name)
        return self.run(*args, **kwargs)

    def greeting(self) -> str:
        return "hello"


def test_a_projects_own_class_of_tasks_can_be_the_base(store: ListStore) -> None:
    @delayed_task(biz_type="order.greet", base=Audited, bind=True, name="tests.greet")
    def greet(self: Any) -> str:
        return f"{self.greeting()} {self.job.attempt}"

    job = greet.schedule()

    assert message(greet, headers={JOB_HEADER: str(job.id)}) == "hello 1"
    assert Audited.calls == ["tests.greet"]
    assert greet.acks_late
    assert greet.job_max_attempts == 8
    assert greet.queue == "audited"


def test_a_base_that_is_no_class_of_tasks_is_refused() -> None:
    with pytest.raises(TypeError, match="base must be a class of Celery tasks, got <class 'dict'>"):
        delayed_task(biz_type="order.greet", base=dict)


@pytest.mark.parametrize(
    ("options", "attempts"),
    [
        ({}, None),
        ({"max_retries": 3}, 4),
        ({"max_retries": 3, "max_attempts": 2}, 2),
        # no limit, for Celery
        ({"max_retries": None}, 1_000),
    ],
)
def test_max_retries_limits_the_attempts_of_a_job(options: dict[str, Any], attempts: int | None) -> None:
    name = f"tests.limited.{attempts}"

    @delayed_task(biz_type="order.limit", name=name, **options)
    def limited() -> None:
        """Does nothing."""

    assert limited.job_max_attempts == attempts


def test_retry_waits_as_long_as_the_task_says(store: ListStore) -> None:
    @delayed_task(biz_type="order.slow", bind=True, default_retry_delay=40, name="tests.slow")
    def slow(self: Any, **options: Any) -> None:
        raise self.retry(**options)

    def asked(**options: Any) -> Any:
        job = slow.schedule(kwargs=options)
        with pytest.raises(Retry) as retry:
            message(slow, headers={JOB_HEADER: str(job.id)})
        return retry.value.when

    assert (asked(), asked(countdown=3), asked(countdown=0), asked(max_retries=1)) == (40, 3, 0, 40)


def test_a_retry_beyond_its_own_limit_ends_the_job(store: ListStore) -> None:
    @delayed_task(biz_type="order.limit", bind=True, name="tests.last")
    def last(self: Any) -> None:
        raise self.retry(exc=ValueError("no such order"), max_retries=2)

    store.attempt, job = 3, last.schedule()

    with pytest.raises(Reject, match=r"ValueError.* all retries are used up that max_retries=2 allows"):
        message(last, headers={JOB_HEADER: str(job.id)})


def test_a_retry_with_other_arguments_is_refused(store: ListStore) -> None:
    @delayed_task(biz_type="order.change", bind=True, name="tests.changed")
    def changed(self: Any) -> None:
        raise self.retry(kwargs={"order_id": 2})

    job = changed.schedule()

    with pytest.raises(TypeError, match="cannot change its arguments"):
        message(changed, headers={JOB_HEADER: str(job.id)})


def test_a_task_is_registered_by_each_name_that_it_had(current_celery: Celery) -> None:
    @delayed_task(biz_type="order.ship", name="tests.ship", aliases=["tests.send"], queue="shipping", bind=True)
    def ship(self: Any, order_id: int) -> str:
        return f"{self.name} {order_id}"

    earlier: Any = current_celery.tasks["tests.send"]

    assert (ship.aliases, ship.is_alias) == (("tests.send",), False)
    assert (earlier.biz_type, earlier.queue, earlier.is_alias) == ("order.ship", "shipping", True)
    assert earlier(7) == "tests.send 7"
    assert ship(7) == "tests.ship 7"


@pytest.mark.parametrize("aliases", ["tests.send", [""], [7]])
def test_aliases_that_are_no_list_of_names_are_refused(aliases: Any) -> None:
    with pytest.raises(TypeError, match=r'aliases must be a list of task names, such as \["shop'):
        delayed_task(biz_type="order.ship", aliases=aliases)
